-- READ COMMITTED, of one moment; locks nothing.
SELECT next_at, id, destination FROM factum.standing
WHERE lane = ANY ($1) AND next_at < $2 AND (claim_until IS NULL OR claim_until <= $3)
  AND (next_at, id) > ($5, $6)
ORDER BY next_at, id LIMIT $4
