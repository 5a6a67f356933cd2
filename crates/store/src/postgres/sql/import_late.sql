-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
INSERT INTO factum.late_evidence (lane, action, no, at, kind, fact) VALUES ($1, $2, $3, $4, $5, $6)
