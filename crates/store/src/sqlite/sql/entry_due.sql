SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry
WHERE kind = ?1 AND due <= ?2
ORDER BY due, tenant, id
