-- READ COMMITTED, of one moment; locks nothing.
SELECT next_at, id, destination FROM factum.standing
WHERE next_at IS NOT NULL AND (next_at, id) > ($1, $2)
ORDER BY next_at, id LIMIT $3
