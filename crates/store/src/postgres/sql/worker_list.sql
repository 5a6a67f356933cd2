-- READ COMMITTED, of one moment; locks nothing.
SELECT nonce FROM factum.worker WHERE until > $1 ORDER BY nonce
