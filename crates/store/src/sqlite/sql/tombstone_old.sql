SELECT lane, identity, action, fingerprint, digest, scope, state, intent_at, settled_at, purged_at, sum
FROM tombstone WHERE scope = ?1 AND intent_at < ?2 ORDER BY intent_at LIMIT ?3
