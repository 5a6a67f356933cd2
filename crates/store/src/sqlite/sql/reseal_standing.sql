UPDATE standing SET chain = ?3, sum = ?4 WHERE lane = ?1 AND id = ?2
