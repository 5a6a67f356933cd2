SELECT kind, tenant, id, version, body, at, who, why, sum FROM entry_version WHERE kind = ?1 AND tenant = ?2 AND id = ?3 ORDER BY version
