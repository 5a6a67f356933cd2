INSERT INTO standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination, sum, chain)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
