SELECT a.id, s.next_step = 'none'
FROM (SELECT lane, id FROM action WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3) a
JOIN standing s ON s.lane = a.lane AND s.id = a.id
ORDER BY a.id
