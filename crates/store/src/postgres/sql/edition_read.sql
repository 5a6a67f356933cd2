-- READ COMMITTED, of one moment; locks nothing.
SELECT number FROM factum.edition WHERE one = 1
