-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- What stays of an action that was taken away elsewhere, and its identity, which stays taken.
WITH named AS (
    INSERT INTO factum.identity (lane, digest, action) VALUES (get_byte($5::bytea, 0)::int2, $5, $3)
    ON CONFLICT (lane, digest) DO NOTHING
)
INSERT INTO factum.tombstone (lane, identity, action, fingerprint, identity_digest, scope, state, intent_at, settled_at, purged_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
