-- Facts and a next step, if the action is at the version before. One statement, one transaction; READ COMMITTED; the row of
-- `standing` is locked from its update on. With a subject ($27) it has to stand with it as it did ($30), as of this statement's
-- snapshot: what commits later comes after this mark. With a token ($12) the claim has to be this one, and its lease not over ($13);
-- with an edition ($18) that has to be the register's; a mark ($19) is
-- refused while a restore is not released, as of the same snapshot.
WITH moved AS (
    UPDATE factum.standing
    SET version = $3, records = $4, state = $5, closed = $6, next_step = $7, next_at = $8, next_why = $9,
        chain = $24
    WHERE lane = $1 AND id = $2 AND version = $10
      AND ($12::int8 IS NULL OR (claim_token = $12 AND claim_until > $13))
      AND ($18::int8 IS NULL OR $18 = (SELECT number FROM factum.edition WHERE one = 1))
      AND (NOT $19::bool OR NOT EXISTS (SELECT 1 FROM factum.restore r WHERE r.one = 1::int2 AND r.released_at IS NULL))
      AND ($27::text IS NULL OR $30::bool = EXISTS (
          SELECT 1 FROM factum.action o
          WHERE o.tenant = $25 AND o.destination = $26 AND o.subject = $27 AND o.id >= $28 AND o.id <> $29))
    RETURNING lane, id
), logged AS (
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact, chain)
    SELECT moved.lane, moved.id, e.no, $11::int8, e.kind, e.fact, e.chain
    FROM moved, unnest($14::int8[], $15::text[], $16::text[], $23::bytea[]) AS e (no, kind, fact, chain)
), named AS (
    INSERT INTO factum.known_by (lane, name, action_lane, action)
    SELECT get_byte(k.name, 0)::int2, k.name, moved.lane, moved.id
    FROM moved, unnest($17::bytea[]) AS k (name)
    ON CONFLICT (lane, name, action_lane, action) DO NOTHING
), told AS (
    INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
    SELECT moved.lane, n.tenant, n.about, $3, n.topic, n.place, $4, $11
    FROM moved, unnest($20::text[], $21::text[], $22::text[]) WITH ORDINALITY AS n (tenant, about, topic, place)
)
SELECT id FROM moved
