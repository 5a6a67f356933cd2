-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- The actions of one content that may hold another one off.
INSERT INTO factum.twin (lane, digest, version, actions) VALUES ($1, $2, 1, $3)
