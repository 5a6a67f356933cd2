UPDATE setting SET sum = ?2 WHERE rowid = ?1
