SELECT lane, id, version, records, state, closed, next_step, next_at, next_why, destination, chain, sum
FROM standing WHERE lane = ?1 AND id = ?2
