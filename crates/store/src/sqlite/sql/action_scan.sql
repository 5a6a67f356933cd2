SELECT lane, id FROM action WHERE (lane, id) > (?1, ?2) ORDER BY lane, id LIMIT ?3
