INSERT INTO restore (one, copy_until, at, released_by, released_at, sum) VALUES (1, ?1, ?2, ?3, ?4, ?5)
ON CONFLICT (one) DO UPDATE SET copy_until = excluded.copy_until, at = excluded.at,
    released_by = excluded.released_by, released_at = excluded.released_at, sum = excluded.sum
