-- A row that no engine has taken over yet.
-- READ COMMITTED, of one moment; locks nothing.
SELECT request::text, principal FROM factum.outbox WHERE id = $1 AND state = 'waiting'
