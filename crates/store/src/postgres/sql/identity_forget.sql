-- Forgets tombstones of a scope ($1, $2) whose intent is older than $3, at most $4, and raises the watermark to it. One statement, one
-- transaction; READ COMMITTED; locks the rows that it removes. A tombstone lies in its identity's lane.
WITH old AS MATERIALIZED (
    SELECT lane, identity, action, identity_digest FROM factum.tombstone WHERE scope = $2 AND intent_at < $3 ORDER BY intent_at LIMIT $4
), raised AS (
    UPDATE factum.scope SET forgotten_before = greatest(forgotten_before, $3)
    WHERE lane = $1 AND digest = $2 AND EXISTS (SELECT FROM old)
), named AS (
    DELETE FROM factum.identity i USING old WHERE i.lane = get_byte(old.identity_digest, 0) AND i.digest = old.identity_digest
), late AS (
    DELETE FROM factum.late_evidence l USING old WHERE l.lane = old.lane AND l.action = old.action
), noted AS (
    INSERT INTO factum.forgotten (lane, action)
    SELECT get_byte(uuid_send(old.action), 9)::int2, old.action FROM old ON CONFLICT (lane, action) DO NOTHING
), gone AS (
    DELETE FROM factum.tombstone t USING old WHERE t.lane = old.lane AND t.identity = old.identity
    RETURNING t.action
)
SELECT count(*)::int8 FROM gone
