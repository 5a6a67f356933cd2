-- Whether a later action on a subject exists, in whatever lane.
-- READ COMMITTED, of one moment; locks nothing.
SELECT id FROM factum.action
WHERE tenant = $1 AND destination = $2 AND subject = $3 AND id >= $4 AND id <> $5
LIMIT 1
