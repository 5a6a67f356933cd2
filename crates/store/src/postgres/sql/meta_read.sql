-- READ COMMITTED, of one moment; locks nothing.
SELECT store, key_check FROM factum.meta WHERE one = 1::int2
