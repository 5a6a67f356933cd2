-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
SELECT t.identity, t.action, t.fingerprint, t.state, t.intent_at, t.settled_at, t.purged_at, s.tenant, s.principal, s.destination,
    s.operation, t.identity_digest
FROM factum.tombstone t JOIN factum.scope s ON s.lane = get_byte(t.scope, 0) AND s.digest = t.scope
ORDER BY t.lane, t.identity
