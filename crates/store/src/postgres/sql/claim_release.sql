-- READ COMMITTED; locks the row of `standing`.
UPDATE factum.standing SET claim_by = NULL, claim_until = NULL WHERE lane = $1 AND id = $2 AND claim_token = $3
