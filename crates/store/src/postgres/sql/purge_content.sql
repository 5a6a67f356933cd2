-- Takes content out of settled actions of one lane ($1), each at its version, and writes that into their logs. One statement, one
-- transaction; READ COMMITTED. The edition's row is locked: a hold that is made at once comes before all of this, or after it.
WITH under AS MATERIALIZED (
    SELECT number FROM factum.edition WHERE one = 1::int2 FOR SHARE
), wish AS MATERIALIZED (
    SELECT * FROM unnest($3::uuid[], $4::int8[], $5::text[], $6::int8[], $7::text[], $14::bytea[]) AS w (id, version, head, no, fact, chain)
), moved AS (
    UPDATE factum.standing s SET version = w.version + 1, records = s.records + 1, chain = w.chain
    FROM wish w, under u
    WHERE s.lane = $1 AND s.id = w.id AND s.version = w.version AND s.next_step = 'none' AND u.number = $2
    RETURNING s.lane, s.id
), emptied AS (
    UPDATE factum.action a SET params = '', payload = '', head = w.head
    FROM moved m JOIN wish w ON w.id = m.id
    WHERE a.lane = $1 AND a.id = m.id
), logged AS (
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact, chain)
    SELECT m.lane, m.id, w.no, $8::int8, 'noted', w.fact, w.chain FROM moved m JOIN wish w ON w.id = m.id
), entered AS MATERIALIZED (
    SELECT e.* FROM unnest($9::uuid[], $10::int2[], $11::text[], $12::text[], $13::text[]) AS e (action, lane, kind, tenant, id)
    JOIN moved m ON m.id = e.action
), versions AS (
    DELETE FROM factum.entry_version v USING entered e
    WHERE v.lane = e.lane AND v.kind = e.kind AND v.tenant = e.tenant AND v.id = e.id
), entries AS (
    DELETE FROM factum.entry x USING entered e
    WHERE x.lane = e.lane AND x.kind = e.kind AND x.tenant = e.tenant AND x.id = e.id
)
SELECT u.number = $2, m.id FROM under u LEFT JOIN moved m ON true
