-- READ COMMITTED; locks the one row.
UPDATE factum.restore SET released_by = coalesce(released_by, $1), released_at = coalesce(released_at, $2) WHERE one = 1::int2
RETURNING copy_until, at, released_by, released_at
