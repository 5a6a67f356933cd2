-- READ COMMITTED; locks the row of `worker`.
UPDATE factum.worker SET room = $2 WHERE nonce = $1
