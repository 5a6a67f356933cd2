-- READ COMMITTED; locks the row of `standing`.
UPDATE factum.standing SET claim_until = greatest(claim_until, $4)
WHERE lane = $1 AND id = $2 AND claim_token = $3 AND claim_until > $5
RETURNING claim_until
