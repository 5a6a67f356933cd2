-- Rows that were taken over before $1, some at a time. Refused ones stay until the application removes them.
-- READ COMMITTED; locks the rows of `outbox`, and leaves those that are locked already.
WITH old AS MATERIALIZED (
    SELECT id FROM factum.outbox WHERE done_at < $1 AND state = 'taken' LIMIT 1000 FOR UPDATE SKIP LOCKED
)
DELETE FROM factum.outbox o USING old WHERE o.id = old.id
