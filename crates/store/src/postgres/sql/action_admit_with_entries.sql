-- One statement, one transaction: the action with how it stands, its first evidence, the entries that are changed with it, and the row
-- of its twins ($47, with the version before, $48, and the actions from now on, $49); or nothing, where its identity names another one,
-- or an entry or that row is at another version. All but that row lies in one lane ($1). What it gives is what action_admit.sql gives.
-- With an edition ($27) it has to be the register's. READ COMMITTED. Waits for a row of the same twins, then for one of the same
-- identity, that another transaction has not decided yet.
WITH wish AS MATERIALIZED (
    SELECT * FROM unnest($37::text[], $38::text[], $39::text[], $40::int8[], $41::text[], $42::text[], $43::int8[],
        $44::text[], $45::text[]) AS w (kind, tenant, id, version, body, label, due, who, why)
), fits AS MATERIALIZED (
    SELECT 1 WHERE NOT EXISTS (
        SELECT 1 FROM wish w LEFT JOIN factum.entry e
            ON e.lane = $1 AND e.kind = w.kind AND e.tenant = w.tenant AND e.id = w.id
        WHERE coalesce(e.version, 0) <> w.version - 1)
      AND ($27::int8 IS NULL OR $27 = (SELECT number FROM factum.edition WHERE one = 1))
), twins AS (
    INSERT INTO factum.twin (lane, digest, version, actions)
    SELECT $46::int2, $47::bytea, $48::int8 + 1, $49::uuid[] FROM fits WHERE $47::bytea IS NOT NULL
    ON CONFLICT (lane, digest) DO UPDATE SET version = excluded.version, actions = excluded.actions WHERE twin.version = $48
    RETURNING 1
), named_by AS MATERIALIZED (
    SELECT factum.identify_kept($28, $29, $2, $32, $33) AS id
    FROM fits
    WHERE $47::bytea IS NULL OR EXISTS (SELECT FROM twins)
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
), kept AS (
    INSERT INTO factum.entry_version (lane, kind, tenant, id, version, body, at, who, why)
    SELECT new.lane, w.kind, w.tenant, w.id, w.version, w.body, $21::int8, w.who, w.why FROM new, wish w
), entered AS (
    INSERT INTO factum.entry (lane, kind, tenant, id, version, body, label, due, at, who, why)
    SELECT new.lane, w.kind, w.tenant, w.id, w.version, w.body, w.label, w.due, $21::int8, w.who, w.why FROM new, wish w
    ON CONFLICT (lane, kind, tenant, id) DO UPDATE SET version = excluded.version, body = excluded.body,
        label = excluded.label, due = excluded.due, at = excluded.at, who = excluded.who, why = excluded.why
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
