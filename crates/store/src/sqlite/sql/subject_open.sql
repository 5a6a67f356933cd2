SELECT 1 FROM action a JOIN standing s ON s.lane = a.lane AND s.id = a.id
WHERE a.tenant = ?1 AND a.destination = ?2 AND a.subject = ?3 AND s.next_step <> 'none'
LIMIT 1
