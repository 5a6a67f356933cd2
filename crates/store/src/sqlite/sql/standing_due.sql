SELECT lane, id, version, records, state, closed, next_step, next_at, next_why, destination, chain, sum
FROM standing INDEXED BY standing_due
WHERE next_at IS NOT NULL AND (next_at, id) > (?1, ?2)
ORDER BY next_at, id LIMIT ?3
