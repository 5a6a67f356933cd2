-- One statement, one transaction: the action with how it stands and its first evidence, or nothing where its identity names
-- another one. With an edition ($27) it has to be the register's. READ COMMITTED. Waits for a row of the same identity that another
-- transaction has not decided yet. Gives the id that the identity names, and the same again if it was recorded by this; no row where
-- the register refuses, and no id where the scope ($32) has forgotten the identities of that time ($33).
WITH named_by AS MATERIALIZED (
    SELECT factum.identify_kept($28, $29, $2, $32, $33) AS id
    WHERE $27::int8 IS NULL OR $27 = (SELECT number FROM factum.edition WHERE one = 1)
), new AS (
    INSERT INTO factum.action (lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head,
        subject, destination, identity_form, seal)
    SELECT $1::int2, $2::uuid, $3::bytea, $4::bytea, $5::bytea, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text,
        $26::text, CASE WHEN $26::text IS NULL THEN NULL ELSE $18::text END, 2::int2, $34::bytea
    FROM named_by WHERE named_by.id = $2
    ON CONFLICT (lane, identity) DO NOTHING
    RETURNING lane, id
), stands AS (
    INSERT INTO factum.standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination,
        claim_token, claim_by, claim_until, chain)
    SELECT lane, id, 1::int8, $12::int8, $13::text, $14::bool, $15::text, $16::int8, $17::text, $18::text,
        CASE WHEN $19::int8 IS NULL THEN 0::int8 ELSE 1::int8 END, $19::int8, $20::int8, $36::bytea
    FROM new
), logged AS (
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact, chain)
    SELECT new.lane, new.id, e.no, $21::int8, e.kind, e.fact, e.chain
    FROM new, unnest($22::int8[], $23::text[], $24::text[], $35::bytea[]) AS e (no, kind, fact, chain)
), named AS (
    INSERT INTO factum.known_by (lane, name, action_lane, action)
    SELECT get_byte(k.name, 0)::int2, k.name, new.lane, new.id
    FROM new, unnest($25::bytea[]) AS k (name)
    ON CONFLICT (lane, name, action_lane, action) DO NOTHING
), told AS (
    INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
    SELECT new.lane, $6::text, $30::text, 1::int8, n.topic, n.place, $12::int8, $21::int8
    FROM new, unnest($31::text[]) WITH ORDINALITY AS n (topic, place)
)
SELECT named_by.id, new.id FROM named_by LEFT JOIN new ON true
