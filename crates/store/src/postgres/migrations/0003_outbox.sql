-- The outbox: an application records what it wants done in its own transaction. The table is an ordinary one, on the node of the
-- application's own tables, so that both commit or neither does; it has no lane, because the identity's hash is made with keys
-- that are not in the database. An engine takes rows over by their identity; a repeat joins.

CREATE SEQUENCE factum.outbox_no;

CREATE TABLE factum.outbox (
    id          uuid  NOT NULL,
    no          int8  NOT NULL DEFAULT nextval('factum.outbox_no'),
    -- Digests of what names the intent, and of what makes its effect.
    identity    bytea NOT NULL,
    intent      bytea NOT NULL,
    -- Who submitted it, and may ask what became of it.
    role        text  NOT NULL,
    request     jsonb,
    state       text  NOT NULL,
    held_until  int8,
    done_at     int8,
    action      uuid,
    action_name text,
    problem     jsonb,
    CONSTRAINT outbox_key                     PRIMARY KEY (id),
    CONSTRAINT outbox_identity_is_32_bytes    CHECK (octet_length(identity) = 32),
    CONSTRAINT outbox_intent_is_32_bytes      CHECK (octet_length(intent) = 32),
    CONSTRAINT outbox_state_is_known          CHECK (state IN ('waiting', 'taken', 'refused')),
    CONSTRAINT outbox_waiting_has_its_request CHECK (state <> 'waiting' OR request IS NOT NULL),
    CONSTRAINT outbox_taken_has_its_action    CHECK ((state = 'taken') = (action IS NOT NULL)),
    CONSTRAINT outbox_action_has_its_name     CHECK ((action IS NULL) = (action_name IS NULL)),
    CONSTRAINT outbox_refused_has_its_problem CHECK ((state = 'refused') = (problem IS NOT NULL))
);

-- A refused row was recorded nowhere: the same identity may come again, corrected.
CREATE UNIQUE INDEX outbox_identity ON factum.outbox (identity) WHERE state <> 'refused';
CREATE INDEX outbox_waiting ON factum.outbox (no) WHERE state = 'waiting';
CREATE INDEX outbox_done ON factum.outbox (done_at) WHERE done_at IS NOT NULL;

-- Writes a submission, the body of POST /v1/actions, within the caller's transaction, and returns the row's id. It neither
-- notifies nor takes locks beyond the row's own, so that it works in a prepared transaction and costs no commit its company.
-- Stricter than the engine, never looser: what it lets through, the engine checks. SQLSTATEs are the codes of problems.
CREATE FUNCTION factum.submit(p_request jsonb) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_identity bytea;
    v_intent   bytea;
    v_earlier  bytea;
    v_id       uuid;
BEGIN
    IF p_request IS NULL OR jsonb_typeof(p_request) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'F1003', MESSAGE = 'a submission is a JSON object',
            HINT = 'pass the body of POST /v1/actions';
    END IF;
    IF p_request ->> 'destination' IS NULL OR p_request ->> 'operation' IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'F1003', MESSAGE = 'the submission names no destination, or no operation',
            HINT = 'add both members';
    END IF;
    IF p_request ->> 'key' IS NULL AND (p_request -> 'event' ->> 'id' IS NULL OR p_request ->> 'effect' IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'F1004', MESSAGE = 'the submission names no identity',
            HINT = 'add a key that is the same for every repeat of this intent, or event and effect';
    END IF;
    v_identity := sha256(convert_to(jsonb_build_array(
        p_request ->> 'for', p_request ->> 'destination', p_request ->> 'operation', p_request ->> 'key',
        p_request -> 'event' ->> 'source', p_request -> 'event' ->> 'id', p_request ->> 'effect')::text, 'UTF8'));
    -- As text: numbers that differ in how they are written differ for the engine too.
    v_intent := sha256(convert_to(jsonb_build_array(p_request -> 'params', p_request -> 'payload')::text, 'UTF8'));
    INSERT INTO factum.outbox (id, identity, intent, role, request, state)
    VALUES (gen_random_uuid(), v_identity, v_intent, session_user, p_request, 'waiting')
    ON CONFLICT (identity) WHERE state <> 'refused' DO NOTHING
    RETURNING id INTO v_id;
    IF v_id IS NOT NULL THEN
        RETURN v_id;
    END IF;
    SELECT o.id, o.intent INTO v_id, v_earlier FROM factum.outbox o
    WHERE o.identity = v_identity AND o.state <> 'refused';
    IF v_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'an earlier row of this identity is just being done with',
            HINT = 'repeat the transaction';
    END IF;
    IF v_earlier <> v_intent THEN
        RAISE EXCEPTION USING ERRCODE = 'F1007', MESSAGE = 'the identity names a submission with other params or another payload',
            DETAIL = 'The first submission is ' || v_id::text || '.',
            HINT = 'use another key for another effect, or repeat the first submission unchanged';
    END IF;
    RETURN v_id;
END $$;

-- What became of a submission: one row, for the role that submitted it alone. `state` is `waiting`, `taken` or `refused`; with an
-- action, how that stands.
CREATE FUNCTION factum.submitted(p_id uuid)
RETURNS TABLE (state text, action text, action_state text, next_step text, problem jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT o.state, o.action_name, s.state, s.next_step, o.problem
    FROM factum.outbox o
    LEFT JOIN factum.standing s ON s.lane = get_byte(uuid_send(o.action), 9) AND s.id = o.action
    WHERE o.id = p_id AND o.role = session_user
$$;

-- Whoever may submit is granted it by name.
REVOKE ALL ON FUNCTION factum.submit(jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION factum.submitted(uuid) FROM PUBLIC;
