DELETE FROM report WHERE lane = ?1 AND action = ?2
