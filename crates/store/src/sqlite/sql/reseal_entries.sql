SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry
WHERE (kind, tenant, id) > (?1, ?2, ?3)
ORDER BY kind, tenant, id
LIMIT ?4
