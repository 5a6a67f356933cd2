-- READ COMMITTED; waits for the one row where another transaction is just writing it.
INSERT INTO factum.meta (one, store, key_check, floor) VALUES (1::int2, $1, $2, $3) ON CONFLICT (one) DO NOTHING
