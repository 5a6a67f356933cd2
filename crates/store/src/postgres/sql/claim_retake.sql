-- After a lost answer: free, or the lease is over, or the first try took it, for this worker ($3) until this instant ($4). The
-- token is new in any case, so that a first try that arrives late leaves nobody with an old one. READ COMMITTED; waits for it.
UPDATE factum.standing SET claim_token = claim_token + 1, claim_by = $3, claim_until = $4
WHERE lane = $1 AND id = $2
  AND (claim_until IS NULL OR claim_until <= $5 OR (claim_by = $3 AND claim_until = $4))
RETURNING claim_token
