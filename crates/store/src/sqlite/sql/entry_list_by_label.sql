SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry INDEXED BY entry_label
WHERE kind = ?1 AND label = ?5 AND (tenant, id) > (?2, ?3) AND (?4 IS NULL OR tenant = ?4)
ORDER BY tenant, id
