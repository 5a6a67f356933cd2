SELECT nonce FROM factum.worker WHERE until > $1 ORDER BY nonce
