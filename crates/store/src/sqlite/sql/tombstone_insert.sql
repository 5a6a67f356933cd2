INSERT INTO tombstone (lane, identity, action, fingerprint, digest, scope, state, intent_at, settled_at, purged_at, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
