INSERT INTO report (id, at, tenant, destination, readings, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
RETURNING no
