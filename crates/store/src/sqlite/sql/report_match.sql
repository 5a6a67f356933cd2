UPDATE report SET lane = ?2, action = ?3, sum = ?4, readings = ?5, body = ?6 WHERE no = ?1
