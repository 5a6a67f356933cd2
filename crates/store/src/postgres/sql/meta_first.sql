INSERT INTO factum.meta (one, store, key_check) VALUES (1::int2, $1, $2) ON CONFLICT (one) DO NOTHING
