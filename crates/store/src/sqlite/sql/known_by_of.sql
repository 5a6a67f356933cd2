SELECT name, lane, action, sum FROM known_by WHERE lane = ?1 AND action = ?2 ORDER BY name
