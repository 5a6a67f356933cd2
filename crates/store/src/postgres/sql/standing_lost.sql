-- One of these writes that is not there any more: the action is gone without a tombstone, or at an earlier version. A few rows, each by
-- its key. READ COMMITTED, of one moment; locks nothing.
SELECT w.id
FROM unnest($1::int2[], $2::uuid[], $3::int8[]) AS w (lane, id, version)
LEFT JOIN factum.standing s ON s.lane = w.lane AND s.id = w.id
LEFT JOIN factum.tombstone t ON t.lane = w.lane AND t.action = w.id
WHERE s.version < w.version OR (s.version IS NULL AND t.action IS NULL)
LIMIT 1
