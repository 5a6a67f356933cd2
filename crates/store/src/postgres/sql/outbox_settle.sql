-- What became of rows: only of those that wait, so that repeating it changes nothing more. A request that was taken over lives
-- in its action.
-- READ COMMITTED; locks the rows of `outbox`.
UPDATE factum.outbox o
SET state = CASE WHEN u.action IS NULL THEN 'refused' ELSE 'taken' END,
    request = CASE WHEN u.action IS NULL THEN o.request END,
    action = u.action, action_name = u.action_name, problem = u.problem::jsonb, done_at = $5, held_until = NULL
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS u (id, action, action_name, problem)
WHERE o.id = u.id AND o.state = 'waiting'
