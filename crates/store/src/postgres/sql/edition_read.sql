SELECT number FROM factum.edition WHERE one = 1
