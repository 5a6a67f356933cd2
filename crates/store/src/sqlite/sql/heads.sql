SELECT a.id, s.records, s.chain
FROM action a INDEXED BY action_newest CROSS JOIN standing s ON s.lane = a.lane AND s.id = a.id
WHERE a.id > ?1 ORDER BY a.id LIMIT ?2
