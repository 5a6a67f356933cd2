DELETE FROM standing WHERE lane = ?1 AND id = ?2
