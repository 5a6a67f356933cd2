SELECT DISTINCT a.tenant
FROM standing s INDEXED BY standing_due CROSS JOIN action a ON a.lane = s.lane AND a.id = s.id
WHERE s.next_at IS NOT NULL AND s.next_step = 'wait' AND s.destination = ?1
  AND s.state IN ('accepted', 'outcome_unknown')
ORDER BY a.tenant
