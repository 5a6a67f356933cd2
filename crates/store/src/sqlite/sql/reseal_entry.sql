UPDATE entry SET body = ?4, sum = ?5 WHERE kind = ?1 AND tenant = ?2 AND id = ?3
