SELECT lane, id FROM action WHERE (id, lane) > (?2, ?1) ORDER BY id, lane LIMIT ?3
