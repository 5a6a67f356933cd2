-- One of these writes that is not there any more: the action is gone, or at an earlier version. A few rows, each by its key.
-- READ COMMITTED, of one moment; locks nothing.
SELECT w.id
FROM unnest($1::int2[], $2::uuid[], $3::int8[]) AS w (lane, id, version)
LEFT JOIN factum.standing s ON s.lane = w.lane AND s.id = w.id
WHERE s.version IS NULL OR s.version < w.version
LIMIT 1
