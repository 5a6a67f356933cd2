-- Which action an identity names, for every way of submitting: decided in one place, `factum.identify`. An application's own
-- transaction reserves an action's id here, and whoever records the action takes it over.
--
-- The digest is a hash that the database can compute (`factum_store::identity_digest`). It confirms a guessed identity, whose text is
-- in `action.name` anyway; the hash of the content stays a keyed one.
CREATE TABLE factum.identity (
    lane   int2  NOT NULL,
    digest bytea NOT NULL,
    action uuid  NOT NULL,
    CONSTRAINT identity_key                 PRIMARY KEY (lane, digest),
    CONSTRAINT identity_digest_is_32_bytes  CHECK (octet_length(digest) = 32),
    CONSTRAINT identity_lane_is_the_digests CHECK (lane = get_byte(digest, 0))
);

-- 1: the whole identity hash is keyed. 2: its first byte, the lane, is the digest's. A program that knows only 1 can record nothing
-- any more, because it would not see what is reserved.
ALTER TABLE factum.action
    ADD COLUMN identity_form int2 NOT NULL DEFAULT 1::int2,
    ADD CONSTRAINT action_identity_form_is_known CHECK (identity_form IN (1, 2));
ALTER TABLE factum.action ALTER COLUMN identity_form DROP DEFAULT;

-- The action that an identity names from now on: the given one, unless there is an earlier one. Waits for a transaction that is
-- just deciding the same. READ COMMITTED; a caller's snapshot that does not see the earlier one gets 40001 from the database.
CREATE FUNCTION factum.identify(p_lane int2, p_digest bytea, p_action uuid) RETURNS uuid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_action uuid;
BEGIN
    INSERT INTO factum.identity (lane, digest, action) VALUES (p_lane, p_digest, p_action)
    ON CONFLICT (lane, digest) DO NOTHING RETURNING action INTO v_action;
    IF v_action IS NULL THEN
        SELECT i.action INTO v_action FROM factum.identity i WHERE i.lane = p_lane AND i.digest = p_digest;
    END IF;
    RETURN v_action;
END $$;

-- Which applications may submit, by the name of their role, and for whom. The schema's owner needs no row: it submits as `admin` of
-- the tenant `default`.
CREATE TABLE factum.application (
    role      text NOT NULL,
    tenant    text NOT NULL,
    principal text NOT NULL,
    CONSTRAINT application_key PRIMARY KEY (role)
);

-- The id of a row is the id of the action that it becomes. Rows of older programs have an id of another kind, and wait on.
DROP INDEX factum.outbox_identity;
ALTER TABLE factum.outbox
    DROP COLUMN identity, DROP COLUMN intent, DROP COLUMN role,
    ADD COLUMN tenant text NOT NULL DEFAULT 'default',
    ADD COLUMN principal text NOT NULL DEFAULT 'admin';
ALTER TABLE factum.outbox ALTER COLUMN tenant DROP DEFAULT, ALTER COLUMN principal DROP DEFAULT;

-- Text as a part of a digest: its length in bytes, then itself.
CREATE FUNCTION factum.part(p_text text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT int8send(octet_length(convert_to(p_text, 'UTF8'))::int8) || convert_to(p_text, 'UTF8')
$$;

-- JSON in one order: members sorted by bytes, no white space, numbers as written, as the engine has it for a fingerprint.
CREATE FUNCTION factum.canonical(p_value json) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE json_typeof(p_value)
        WHEN 'object' THEN '{' || coalesce((
            SELECT string_agg(to_json(m.key)::text || ':' || factum.canonical(m.value), ',' ORDER BY m.key COLLATE "C")
            FROM json_each(p_value) m), '') || '}'
        WHEN 'array' THEN '[' || coalesce((
            SELECT string_agg(factum.canonical(e.value), ',' ORDER BY e.ordinality)
            FROM json_array_elements(p_value) WITH ORDINALITY e), '') || ']'
        WHEN 'string' THEN to_json(p_value #>> '{}')::text
        ELSE btrim(p_value::text, E' \t\n\r') END
$$;

-- An action's id as every interface writes it: act_ and 26 digits of Crockford's base32.
CREATE FUNCTION factum.action_text(p_id uuid) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'act_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(b.bits FROM 1 + 5 * n FOR 5)::int4, 1), '' ORDER BY n)
    FROM (SELECT B'00' || ('x' || encode(uuid_send(p_id), 'hex'))::bit(128) AS bits) b, generate_series(0, 25) n
$$;

-- The id that such a text writes; null where it is none.
CREATE FUNCTION factum.action_id(p_text text) RETURNS uuid
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN p_text ~* '^act_[0-7][0-9a-hjkmnp-tv-z]{25}$' THEN (
        SELECT encode(string_agg(set_byte('\x00', 0, substring(b.bits FROM 3 + 8 * n FOR 8)::bit(8)::int4), '' ORDER BY n), 'hex')::uuid
        FROM (
            SELECT string_agg((strpos('0123456789abcdefghjkmnpqrstvwxyz', lower(substr(p_text, 5 + d, 1))) - 1)::bit(5)::text, '' ORDER BY d)::bit(130)
                AS bits
            FROM generate_series(0, 25) d
        ) b, generate_series(0, 15) n) END
$$;

-- For whom the session's own role submits, as tenant and principal; an error where it may not. `SET ROLE` changes nothing here.
CREATE FUNCTION factum.submitter() RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_submitter text[];
BEGIN
    SELECT ARRAY[a.tenant, a.principal] INTO v_submitter FROM factum.application a WHERE a.role = session_user;
    IF v_submitter IS NOT NULL THEN
        RETURN v_submitter;
    END IF;
    IF session_user <> current_user THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the role ' || session_user || ' is no application of this store',
            HINT = 'insert its role, tenant and principal into factum.application';
    END IF;
    RETURN ARRAY['default', 'admin'];
END $$;

-- A text member; null where it is absent. What is no text is refused.
CREATE FUNCTION factum.text_member(p_object jsonb, p_name text, p_pointer text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(p_object -> p_name) NOT IN ('string', 'null') THEN
        RAISE EXCEPTION USING ERRCODE = 'F1003', MESSAGE = p_pointer || ' is no text', HINT = 'send a string';
    END IF;
    RETURN p_object ->> p_name;
END $$;

-- The digest of the identity that a submission names. What the engine would refuse about it is refused here, by its code.
CREATE FUNCTION factum.submission_digest(p_request jsonb, p_submitter text[]) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_key    text;
    v_event  jsonb;
    v_effect text;
    v_scope  bytea;
    v_parts  text[];
BEGIN
    IF p_request IS NULL OR jsonb_typeof(p_request) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'F1003', MESSAGE = 'a submission is a JSON object',
            HINT = 'pass the body of POST /v1/actions';
    END IF;
    v_key := factum.text_member(p_request, 'key', '/key');
    v_effect := factum.text_member(p_request, 'effect', '/effect');
    v_event := nullif(p_request -> 'event', 'null'::jsonb);
    v_scope := factum.part(p_submitter[1])
        || factum.part(coalesce(factum.text_member(p_request, 'for', '/for'), p_submitter[2]))
        || factum.part(factum.text_member(p_request, 'destination', '/destination'))
        || factum.part(factum.text_member(p_request, 'operation', '/operation'));
    IF v_scope IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'F1003', MESSAGE = 'the submission names no destination, or no operation',
            HINT = 'add both members';
    END IF;
    IF v_key IS NOT NULL AND (v_event IS NOT NULL OR v_effect IS NOT NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'F1011', MESSAGE = 'an identity is either a key, or an event with its effect',
            HINT = 'send one of the two';
    END IF;
    v_parts := CASE WHEN v_key IS NOT NULL THEN ARRAY['key', v_key]
        ELSE ARRAY['event', factum.text_member(v_event, 'source', '/event/source'),
            factum.text_member(v_event, 'id', '/event/id'), v_effect] END;
    IF array_position(v_parts, NULL) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'F1004', MESSAGE = 'the submission names no identity',
            HINT = 'add a key that is the same for every repeat of this intent, or event and effect';
    END IF;
    RETURN sha256(v_scope || (SELECT string_agg(factum.part(p.part), '' ORDER BY p.ordinality)
        FROM unnest(v_parts) WITH ORDINALITY p (part, ordinality)));
END $$;

-- Params and payload, and thereby what makes the effect, in canonical form. A text that holds U+0000 stays as it is written: no text of
-- this database holds that character, so nothing that was submitted here can be equal to it.
CREATE FUNCTION factum.effect(p_params json, p_payload json) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(CASE WHEN part.value::text ~ '(^|[^\\])(\\\\)*\\u0000' THEN part.value::text ELSE factum.canonical(part.value) END,
        ' ' ORDER BY part.no)
    FROM (VALUES
        (1, coalesce(CASE WHEN json_typeof(p_params) <> 'null' THEN p_params END, '{}'::json)),
        (2, coalesce(p_payload, 'null'::json))) part (no, value)
$$;

-- A UUIDv7 that carries its lane, as the engine makes them.
CREATE FUNCTION factum.fresh_id(p_lane int2, p_millis int8) RETURNS uuid
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(set_byte(set_byte(overlay(r.bytes PLACING substring(int8send(p_millis) FROM 3) FROM 1 FOR 6),
        6, 112 | (get_byte(r.bytes, 6) & 15)), 9, p_lane), 'hex')::uuid
    FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) r
$$;

DROP FUNCTION factum.submit(jsonb);
DROP FUNCTION factum.submitted(uuid);

-- Records a submission, the body of POST /v1/actions, within the caller's transaction, and returns
-- {"id": the action's, "joined": whether an earlier submission named it, "state": how it stands}. It neither notifies nor takes locks
-- beyond the identity's own, so that it works in a prepared transaction and costs no commit its company. It decides joins exactly as
-- the engine does; what it lets through, the engine checks. SQLSTATEs are the codes of problems.
CREATE FUNCTION factum.submit(p_request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_submitter text[] := factum.submitter();
    v_digest    bytea := factum.submission_digest(p_request, v_submitter);
    v_lane      int2 := get_byte(v_digest, 0)::int2;
    v_ours      uuid := factum.fresh_id(v_lane, (extract(epoch FROM clock_timestamp()) * 1000)::int8);
    v_id        uuid := factum.identify(v_lane, v_digest, v_ours);
    v_row       text;
    v_first     text;
    v_state     text;
    v_other     bool;
BEGIN
    IF v_id <> v_ours THEN
        SELECT o.state, o.request::text INTO v_row, v_first FROM factum.outbox o WHERE o.id = v_id;
        IF v_row = 'refused' THEN
            -- Of two that correct it at once, the second one finds what the first one wrote.
            SELECT o.state, o.request::text INTO v_row, v_first FROM factum.outbox o WHERE o.id = v_id FOR UPDATE;
        END IF;
        IF v_row = 'waiting' THEN
            v_state := 'pending';
            v_other := factum.effect(v_first::json -> 'params', v_first::json -> 'payload')
                <> factum.effect((p_request -> 'params')::text::json, (p_request -> 'payload')::text::json);
        ELSIF v_row IS NULL OR v_row = 'taken' THEN
            SELECT s.state, factum.effect(a.params::json, a.payload::json)
                <> factum.effect((p_request -> 'params')::text::json, (p_request -> 'payload')::text::json)
            INTO v_state, v_other
            FROM factum.action a JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
            WHERE a.lane = v_lane AND a.id = v_id;
        END IF;
    END IF;
    IF v_other THEN
        RAISE EXCEPTION USING ERRCODE = 'F1007', MESSAGE = 'the identity names an action with other params or another payload',
            DETAIL = factum.action_text(v_id),
            HINT = 'use another key for another effect, or repeat the first submission unchanged';
    END IF;
    IF v_state IS NULL THEN
        -- New; or refused before, so that nothing was recorded: then it comes again under the same id.
        INSERT INTO factum.outbox (id, tenant, principal, request, state)
        VALUES (v_id, v_submitter[1], v_submitter[2], p_request, 'waiting')
        ON CONFLICT (id) DO UPDATE SET request = excluded.request, state = excluded.state, principal = excluded.principal,
            action = NULL, action_name = NULL, problem = NULL, done_at = NULL, held_until = NULL
            WHERE outbox.state <> 'waiting';
        -- Looked at after the row: whoever takes the store out of use waits for rows on their way, and this sees what it has written.
        IF EXISTS (SELECT FROM factum.setting s WHERE s.name = 'retired') THEN
            RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'the store was moved, and takes nothing any more',
                HINT = 'submit to the store that it was moved to';
        END IF;
    END IF;
    RETURN jsonb_build_object('id', factum.action_text(v_id), 'joined', v_state IS NOT NULL, 'state', coalesce(v_state, 'pending'));
END $$;

-- How a submission of one's own tenant stands, by the id that `factum.submit` gave: {"id", "recorded", "state", "next", "problem"};
-- null where there is none. One that was refused is a `terminal_failure` with the problem.
CREATE FUNCTION factum.submitted(p_id text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH asked AS (
        SELECT factum.action_id(p_id) AS id, (factum.submitter())[1] AS tenant
    ), outbox AS (
        SELECT o.state, o.problem, o.action FROM factum.outbox o JOIN asked ON o.id = asked.id AND o.tenant = asked.tenant
    ), named AS (
        SELECT coalesce((SELECT action FROM outbox), asked.id) AS id, asked.tenant FROM asked
    ), stands AS (
        SELECT s.id, s.state, s.next_step FROM named
        JOIN factum.action a ON a.lane = get_byte(uuid_send(named.id), 9)::int2 AND a.id = named.id AND a.tenant = named.tenant
        JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
    )
    SELECT jsonb_build_object('id', factum.action_text(s.id), 'recorded', true, 'state', s.state, 'next', s.next_step, 'problem', NULL)
    FROM stands s
    UNION ALL
    SELECT jsonb_build_object('id', factum.action_text(asked.id), 'recorded', false,
        'state', CASE WHEN o.state = 'refused' THEN 'terminal_failure' ELSE 'pending' END,
        'next', CASE WHEN o.state = 'refused' THEN 'none' ELSE 'send' END, 'problem', o.problem)
    FROM outbox o, asked WHERE NOT EXISTS (SELECT FROM stands)
$$;

-- Whoever may submit is granted these two by name, and nothing else.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA factum FROM PUBLIC;
