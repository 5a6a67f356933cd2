-- A row that no engine has taken over yet.
SELECT request::text, principal FROM factum.outbox WHERE id = $1 AND state = 'waiting'
