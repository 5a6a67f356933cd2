SELECT name, lane, action, sum FROM known_by
