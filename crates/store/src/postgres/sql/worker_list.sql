-- Not the one of nonce 0: it stands for whoever is just opening the store. READ COMMITTED, of one moment; locks nothing.
SELECT nonce FROM factum.worker WHERE until > $1 AND nonce <> 0 ORDER BY nonce
