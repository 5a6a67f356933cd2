UPDATE evidence SET fact = ?4, chain = ?5, sum = ?6 WHERE lane = ?1 AND action = ?2 AND no = ?3
