SELECT name, lane, action, sum FROM known_by WHERE name = ?1 LIMIT 2
