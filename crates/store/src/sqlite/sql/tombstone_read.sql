SELECT lane, identity, action, fingerprint, digest, scope, state, intent_at, settled_at, purged_at, sum
FROM tombstone WHERE lane = ?1 AND action = ?2
