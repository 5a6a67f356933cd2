INSERT INTO report (no, id, at, tenant, destination, readings, body, lane, action, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
