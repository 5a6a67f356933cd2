SELECT DISTINCT e.action FROM evidence e
WHERE NOT EXISTS (SELECT 1 FROM action a WHERE a.lane = e.lane AND a.id = e.action)
LIMIT ?1
