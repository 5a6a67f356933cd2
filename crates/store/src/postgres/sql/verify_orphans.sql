-- Actions of which rows are there, and not the fixed one. READ COMMITTED, of one moment; locks nothing.
SELECT DISTINCT o.id FROM (
    SELECT s.lane, s.id FROM factum.standing s
    UNION ALL
    SELECT e.lane, e.action FROM factum.evidence e
) o
WHERE NOT EXISTS (SELECT FROM factum.action a WHERE a.lane = o.lane AND a.id = o.id)
ORDER BY o.id LIMIT $1
