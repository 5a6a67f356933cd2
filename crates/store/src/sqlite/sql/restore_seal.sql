UPDATE restore SET sum = ?2 WHERE rowid = ?1
