DELETE FROM late_evidence WHERE lane = ?1 AND action = ?2
