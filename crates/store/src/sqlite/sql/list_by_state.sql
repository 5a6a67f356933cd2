SELECT a.id
FROM standing s INDEXED BY standing_state CROSS JOIN action a ON a.lane = s.lane AND a.id = s.id
WHERE s.state = ?5 AND s.id < ?2
  AND (?3 IS NULL OR a.tenant = ?3)
  AND (?4 IS NULL OR a.name = ?4)
  AND (?5 IS NULL OR s.state = ?5)
  AND (?6 IS NULL OR s.next_step = ?6)
  AND (?7 IS NULL OR s.destination = ?7)
  AND (?8 IS NULL OR a.conversation = ?8)
ORDER BY s.id DESC LIMIT ?1
