UPDATE report SET lane = ?2, action = ?3, sum = ?4 WHERE no = ?1
