SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry
WHERE kind = ?1 AND (tenant, id) > (?2, ?3)
ORDER BY tenant, id
