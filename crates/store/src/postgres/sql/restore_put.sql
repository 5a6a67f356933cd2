-- A restore on top of an earlier one: the earliest copy counts, because what it lost may still be met.
-- READ COMMITTED; locks the one row.
INSERT INTO factum.restore (one, copy_until, at) VALUES (1::int2, $1, $2)
ON CONFLICT (one) DO UPDATE SET copy_until = least(restore.copy_until, excluded.copy_until), at = excluded.at,
    released_by = NULL, released_at = NULL
RETURNING copy_until, at, released_by, released_at
