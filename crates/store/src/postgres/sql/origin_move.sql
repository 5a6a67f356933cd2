-- The store goes on elsewhere, from a copy: one restore, whichever worker comes first. READ COMMITTED; the row of the origin is
-- locked from its update on, so that a second worker finds it moved and declares nothing.
WITH moved AS (
    UPDATE factum.setting SET value = $2 WHERE name = 'origin' AND value = $1 RETURNING name
)
INSERT INTO factum.restore (one, copy_until, at) SELECT 1::int2, $3::int8, $4::int8 FROM moved
ON CONFLICT (one) DO UPDATE SET copy_until = least(restore.copy_until, excluded.copy_until), at = excluded.at,
    released_by = NULL, released_at = NULL
