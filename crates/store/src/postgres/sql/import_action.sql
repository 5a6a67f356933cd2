-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- An action as it stood elsewhere, with its log and its names; the identity's name where the database can work it out.
WITH new AS (
    INSERT INTO factum.action (lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head,
        subject, destination, identity_form, seal)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, CASE WHEN $12::text IS NULL THEN NULL ELSE $20::text END,
        CASE WHEN $1::int2 = get_byte($13::bytea, 0) THEN 2::int2 ELSE 1::int2 END, $26)
    RETURNING lane, id
), identified AS (
    INSERT INTO factum.identity (lane, digest, action)
    SELECT new.lane, $13::bytea, new.id FROM new WHERE new.lane = get_byte($13::bytea, 0)
), stands AS (
    INSERT INTO factum.standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination, claim_token,
        chain)
    SELECT lane, id, $14::int8, cardinality($21::int8[])::int8, $15::text, $16::bool, $17::text, $18::int8, $19::text, $20::text, 0::int8,
        $28::bytea
    FROM new
), logged AS (
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact, chain)
    SELECT new.lane, new.id, e.no, e.at, e.kind, e.fact, e.chain
    FROM new, unnest($21::int8[], $22::int8[], $23::text[], $24::text[], $27::bytea[]) AS e (no, at, kind, fact, chain)
)
INSERT INTO factum.known_by (lane, name, action_lane, action)
SELECT get_byte(k.name, 0)::int2, k.name, new.lane, new.id FROM new, unnest($25::bytea[]) AS k (name)
