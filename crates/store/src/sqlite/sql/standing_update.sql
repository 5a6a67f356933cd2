UPDATE standing
SET version = ?3, records = ?4, state = ?5, closed = ?6, next_step = ?7, next_at = ?8, next_why = ?9, sum = ?10, chain = ?12
WHERE lane = ?1 AND id = ?2 AND version = ?11
