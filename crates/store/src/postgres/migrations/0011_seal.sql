-- Sealed content. What is confidential stands in its column as `~1:`, the number of a key, `:` and base64; the keys are not in the
-- database. `action.seal` is what an equal repeat of sealed content is told by: SHA-256 over the identity's keyed hash and the content
-- in canonical form. It outlives the content, where that is taken out.
-- A row that was written unsealed has none, and is compared as before.
ALTER TABLE factum.action ADD CONSTRAINT action_seal_is_32_bytes CHECK (seal IS NULL OR octet_length(seal) = 32);

-- Whether an action has another effect than this submission.
CREATE FUNCTION factum.is_other(p_lane int2, p_id uuid, p_request jsonb) RETURNS bool
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN a.seal IS NOT NULL THEN a.seal <> sha256(a.identity || convert_to(asked.effect, 'UTF8'))
        -- Sealed, and no text of this database could be equal to it; or the content was taken out before it could be sealed.
        WHEN a.payload LIKE '~%' OR a.payload = '' THEN true
        ELSE factum.effect(a.params::json, a.payload::json) <> asked.effect END
    FROM factum.action a,
        (SELECT factum.effect((p_request -> 'params')::text::json, (p_request -> 'payload')::text::json) AS effect) asked
    WHERE a.lane = p_lane AND a.id = p_id
$$;
REVOKE ALL ON FUNCTION factum.is_other(int2, uuid, jsonb) FROM PUBLIC;

-- As before, but for how sealed content is compared. Records a submission, the body of POST /v1/actions, within the caller's transaction, and returns
-- {"id": the action's, "joined": whether an earlier submission named it, "state": how it stands}. It neither notifies nor takes locks
-- beyond the identity's own, so that it works in a prepared transaction and costs no commit its company. It decides joins exactly as
-- the engine does; what it lets through, the engine checks. SQLSTATEs are the codes of problems.
CREATE OR REPLACE FUNCTION factum.submit(p_request jsonb) RETURNS jsonb
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
            SELECT s.state, factum.is_other(v_lane, v_id, p_request) INTO v_state, v_other
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
