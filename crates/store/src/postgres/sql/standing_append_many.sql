-- Facts and next steps of many actions, each as in the statement for one; rows that are not returned were not written (R26). One
-- statement, one transaction; READ COMMITTED; each row of `standing` is locked from its update on, in no order: of two workers that
-- meet crosswise one is rolled back whole (40P01) and repeats. $1 are the lanes, one alone where lanes lie on several servers.
WITH moved AS (
    UPDATE factum.standing s
    SET version = w.version, records = w.records, state = w.state, closed = w.closed, next_step = w.step, next_at = w.due,
        next_why = w.why, chain = w.chain
    FROM unnest($2::int2[], $3::uuid[], $4::int8[], $5::int8[], $6::text[], $7::bool[], $8::text[], $9::int8[], $10::text[],
        $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::bool[], $31::bytea[])
        AS w (lane, id, version, records, state, closed, step, due, why, before, at, token, under, marks, chain)
    WHERE s.lane = ANY ($1::int2[]) AND s.lane = w.lane AND s.id = w.id AND s.version = w.before
      AND (w.token IS NULL OR (s.claim_token = w.token AND s.claim_until > w.at))
      AND (w.under IS NULL OR w.under = (SELECT number FROM factum.edition WHERE one = 1))
      AND (NOT w.marks OR NOT EXISTS (SELECT 1 FROM factum.restore r WHERE r.one = 1::int2 AND r.released_at IS NULL))
    RETURNING s.lane, s.id, s.version, s.records, w.at
), logged AS (
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact, chain)
    SELECT moved.lane, moved.id, e.no, e.at, e.kind, e.fact, e.chain
    FROM moved, unnest($16::int2[], $17::uuid[], $18::int8[], $19::int8[], $20::text[], $21::text[], $30::bytea[])
        AS e (lane, id, at, no, kind, fact, chain)
    WHERE e.lane = moved.lane AND e.id = moved.id
), named AS (
    INSERT INTO factum.known_by (lane, name, action_lane, action)
    SELECT get_byte(k.name, 0)::int2, k.name, moved.lane, moved.id
    FROM moved, unnest($22::int2[], $23::uuid[], $24::bytea[]) AS k (lane, id, name)
    WHERE k.lane = moved.lane AND k.id = moved.id
    ON CONFLICT (lane, name, action_lane, action) DO NOTHING
), told AS (
    INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
    SELECT moved.lane, n.tenant, n.about, moved.version, n.topic, n.place, moved.records, moved.at
    FROM moved, unnest($25::int2[], $26::uuid[], $27::text[], $28::text[], $29::text[]) WITH ORDINALITY
        AS n (lane, id, tenant, about, topic, place)
    WHERE n.lane = moved.lane AND n.id = moved.id
)
SELECT id FROM moved
