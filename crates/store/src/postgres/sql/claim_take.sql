-- Free, or the lease is over. READ COMMITTED: a claim that another transaction is just taking is waited for and seen.
UPDATE factum.standing SET claim_token = claim_token + 1, claim_by = $3, claim_until = $4
WHERE lane = $1 AND id = $2 AND (claim_until IS NULL OR claim_until <= $5)
RETURNING claim_token
