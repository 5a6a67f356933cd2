UPDATE report SET readings = ?2, body = ?3, sum = ?4 WHERE id = ?1
