-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
INSERT INTO factum.restore (one, copy_until, at, released_by, released_at) VALUES (1::int2, $1, $2, $3, $4)
