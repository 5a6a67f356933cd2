DELETE FROM entry WHERE (kind, tenant, id) IN (
    SELECT kind, tenant, id FROM entry WHERE kind = ?1 AND at < ?2 ORDER BY at LIMIT ?3)
