INSERT INTO notice (no, at, tenant, topic, about, version, records, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
