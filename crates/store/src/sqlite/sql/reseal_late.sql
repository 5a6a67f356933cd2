UPDATE late_evidence SET fact = ?4, sum = ?5 WHERE lane = ?1 AND action = ?2 AND no = ?3
