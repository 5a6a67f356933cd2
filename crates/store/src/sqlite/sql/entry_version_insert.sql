INSERT INTO entry_version (kind, tenant, id, version, body, at, who, why, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
