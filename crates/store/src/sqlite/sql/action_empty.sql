UPDATE action SET params = ?3, payload = ?4, head = ?5, sum = ?6 WHERE lane = ?1 AND id = ?2
