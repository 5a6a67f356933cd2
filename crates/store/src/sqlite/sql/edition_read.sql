SELECT number FROM edition WHERE one = 1
