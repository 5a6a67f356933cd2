DELETE FROM action WHERE lane = ?1 AND id = ?2
