SELECT lane, id, version, records, state, closed, next_step, next_at, next_why, destination, chain, sum
FROM standing INDEXED BY standing_for_workers
WHERE next_why = 'a worker carries it out in its own code' AND next_at IS NOT NULL
  AND destination = ?1 AND (next_at, id) > (?2, ?3)
ORDER BY next_at, id LIMIT ?4
