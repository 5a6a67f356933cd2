-- READ COMMITTED; waits for the same digest where another transaction is just writing it.
INSERT INTO factum.contract (digest, text) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING
