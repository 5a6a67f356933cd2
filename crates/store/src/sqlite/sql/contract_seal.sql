UPDATE contract SET sum = ?2 WHERE rowid = ?1
