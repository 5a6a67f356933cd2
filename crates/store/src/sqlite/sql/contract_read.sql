SELECT digest, text, sum FROM contract WHERE digest = ?1
