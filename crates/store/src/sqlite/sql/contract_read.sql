SELECT text FROM contract WHERE digest = ?1
