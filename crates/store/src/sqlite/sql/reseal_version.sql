UPDATE entry_version SET body = ?5, sum = ?6 WHERE kind = ?1 AND tenant = ?2 AND id = ?3 AND version = ?4
