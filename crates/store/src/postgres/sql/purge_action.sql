-- Takes settled actions of one lane ($1) away, each at its version, and leaves a tombstone of each. The later action on a subject
-- stays while another one on it is not settled (R14). One statement, one transaction; READ COMMITTED. The edition's row is locked: a
-- hold that is made at once comes before all of this, or after it.
WITH under AS MATERIALIZED (
    SELECT number FROM factum.edition WHERE one = 1::int2 FOR SHARE
), wish AS MATERIALIZED (
    SELECT * FROM unnest($3::uuid[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::text[], $10::int8[],
        $11::int8[], $12::text[], $13::text[], $14::text[], $15::text[])
        AS w (id, version, identity, fingerprint, digest, scope, state, intent_at, settled_at, tenant, principal, destination, operation)
), gone AS (
    DELETE FROM factum.standing s USING wish w, under u
    WHERE s.lane = $1 AND s.id = w.id AND s.version = w.version AND s.next_step = 'none' AND u.number = $2
      AND NOT EXISTS (
        SELECT FROM factum.action a
        JOIN factum.action o ON o.tenant = a.tenant AND o.destination = a.destination AND o.subject = a.subject
        JOIN factum.standing os ON os.lane = o.lane AND os.id = o.id
        WHERE a.lane = $1 AND a.id = w.id AND a.subject IS NOT NULL AND os.next_step <> 'none')
    RETURNING s.lane, s.id
), scopes AS (
    INSERT INTO factum.scope (lane, digest, tenant, principal, destination, operation)
    SELECT DISTINCT get_byte(w.scope, 0)::int2, w.scope, w.tenant, w.principal, w.destination, w.operation
    FROM gone g JOIN wish w ON w.id = g.id
    ON CONFLICT (lane, digest) DO NOTHING
), named AS (
    INSERT INTO factum.identity (lane, digest, action)
    SELECT get_byte(w.digest, 0)::int2, w.digest, w.id FROM gone g JOIN wish w ON w.id = g.id
    ON CONFLICT (lane, digest) DO NOTHING
), stones AS (
    INSERT INTO factum.tombstone (lane, identity, action, fingerprint, identity_digest, scope, state, intent_at, settled_at, purged_at)
    SELECT g.lane, w.identity, w.id, w.fingerprint, w.digest, w.scope, w.state, w.intent_at, w.settled_at, $16::int8
    FROM gone g JOIN wish w ON w.id = g.id
), logs AS (
    DELETE FROM factum.evidence e USING gone g WHERE e.lane = $1 AND e.action = g.id
), names AS (
    DELETE FROM factum.known_by k USING gone g WHERE k.action_lane = $1 AND k.action = g.id
), reports AS (
    DELETE FROM factum.report r USING gone g WHERE r.action = g.id
    RETURNING r.lane, r.id
), report_names AS (
    DELETE FROM factum.report_name n USING reports r WHERE n.report_lane = r.lane AND n.report = r.id
), actions AS (
    DELETE FROM factum.action a USING gone g WHERE a.lane = $1 AND a.id = g.id
), entered AS MATERIALIZED (
    SELECT e.* FROM unnest($17::uuid[], $18::int2[], $19::text[], $20::text[], $21::text[]) AS e (action, lane, kind, tenant, id)
    JOIN gone g ON g.id = e.action
), versions AS (
    DELETE FROM factum.entry_version v USING entered e
    WHERE v.lane = e.lane AND v.kind = e.kind AND v.tenant = e.tenant AND v.id = e.id
), entries AS (
    DELETE FROM factum.entry x USING entered e
    WHERE x.lane = e.lane AND x.kind = e.kind AND x.tenant = e.tenant AND x.id = e.id
)
SELECT u.number = $2, g.id FROM under u LEFT JOIN gone g ON true
