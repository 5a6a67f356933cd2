SELECT digest, text, sum, rowid FROM contract
