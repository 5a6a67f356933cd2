-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
INSERT INTO factum.scope (lane, digest, tenant, principal, destination, operation, forgotten_before) VALUES ($1, $2, $3, $4, $5, $6, $7)
