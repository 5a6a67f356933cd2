-- READ COMMITTED, of one moment; locks nothing.
SELECT DISTINCT a.tenant
FROM factum.standing s JOIN factum.action a ON a.lane = s.lane AND a.id = s.id
WHERE s.next_at IS NOT NULL AND s.next_step = 'wait' AND s.destination = $1
  AND s.state IN ('accepted', 'outcome_unknown')
ORDER BY a.tenant
