DELETE FROM evidence WHERE lane = ?1 AND action = ?2
