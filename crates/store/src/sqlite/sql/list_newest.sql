SELECT a.id
FROM action a INDEXED BY action_newest CROSS JOIN standing s ON s.lane = a.lane AND s.id = a.id
WHERE a.id < ?2
  AND (?3 IS NULL OR a.tenant = ?3)
  AND (?4 IS NULL OR a.name = ?4)
  AND (?5 IS NULL OR s.state = ?5)
  AND (?6 IS NULL OR s.next_step = ?6)
  AND (?7 IS NULL OR s.destination = ?7)
  AND (?8 IS NULL OR a.conversation = ?8)
ORDER BY a.id DESC LIMIT ?1
