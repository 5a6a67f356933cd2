DELETE FROM entry WHERE kind = ?1 AND tenant = ?2 AND id = ?3
