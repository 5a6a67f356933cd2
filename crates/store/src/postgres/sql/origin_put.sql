-- READ COMMITTED; waits for the one row where another transaction is just writing it.
INSERT INTO factum.setting (name, value) VALUES ('origin', $1) ON CONFLICT (name) DO NOTHING
