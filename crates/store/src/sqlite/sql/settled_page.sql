SELECT a.lane, a.id, s.next_step = 'none'
FROM (SELECT lane, id FROM action WHERE (lane, id) > (?1, ?2) AND id < ?3 ORDER BY lane, id LIMIT ?4) a
JOIN standing s ON s.lane = a.lane AND s.id = a.id
ORDER BY a.lane, a.id
