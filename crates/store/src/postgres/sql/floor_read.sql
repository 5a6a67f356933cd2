-- From which schema on a program has to know it to work on the store. READ COMMITTED, of one moment; locks nothing.
SELECT floor FROM factum.meta WHERE one = 1::int2
