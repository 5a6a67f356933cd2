-- READ COMMITTED, of one moment; locks nothing.
SELECT text FROM factum.contract WHERE digest = $1
