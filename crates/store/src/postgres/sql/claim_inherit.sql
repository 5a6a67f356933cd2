-- Held by a worker that has stopped saying that it lives. If it stands still and goes on, its token is an old one, and it writes no mark.
-- READ COMMITTED: a claim that another transaction is just taking is waited for and seen.
UPDATE factum.standing SET claim_token = claim_token + 1, claim_by = $3, claim_until = $4
WHERE lane = $1 AND id = $2 AND claim_by <> $3
  AND EXISTS (SELECT 1 FROM factum.worker w WHERE w.nonce = claim_by AND w.until <= $5)
RETURNING claim_token
