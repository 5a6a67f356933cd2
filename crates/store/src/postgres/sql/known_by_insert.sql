-- READ COMMITTED; waits for the same name where another transaction is just writing it.
INSERT INTO factum.known_by (lane, name, action_lane, action)
SELECT get_byte(k.name, 0)::int2, k.name, $1::int2, $2::uuid FROM unnest($3::bytea[]) AS k (name)
ON CONFLICT (lane, name, action_lane, action) DO NOTHING
