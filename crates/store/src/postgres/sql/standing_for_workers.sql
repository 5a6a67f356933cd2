-- READ COMMITTED, of one moment; locks nothing.
SELECT next_at, id, destination FROM factum.standing
WHERE next_why = 'a worker carries it out in its own code' AND next_at IS NOT NULL
  AND destination = $1 AND (claim_until IS NULL OR claim_until <= $2)
  AND (next_at, id) > ($3, $4)
ORDER BY next_at, id LIMIT $5
