-- Rows that nobody holds ($1 is the time, $2 until when they are held now), oldest first, at most $3. READ COMMITTED; locks its rows; those that
-- another worker is just taking are left to it. A worker that dies with them leaves them to others once the time is over.
WITH due AS MATERIALIZED (
    SELECT id FROM factum.outbox
    WHERE state = 'waiting' AND (held_until IS NULL OR held_until <= $1)
    ORDER BY no LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE factum.outbox o SET held_until = $2 FROM due WHERE o.id = due.id
RETURNING o.id, o.request::text, o.tenant, o.principal
