SELECT s.id FROM standing s
WHERE NOT EXISTS (SELECT 1 FROM action a WHERE a.lane = s.lane AND a.id = s.id)
LIMIT ?1
