DELETE FROM known_by WHERE lane = ?1 AND action = ?2
