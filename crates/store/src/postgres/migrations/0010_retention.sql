-- Retention: what stays of actions that were taken away. A scope has a row once something of it was; its digest is a hash over its
-- parts, and its first byte is the row's lane. `forgotten_before` only rises: identities whose intent is older are refused (R24).
CREATE TABLE factum.scope (
    lane             int2  NOT NULL,
    digest           bytea NOT NULL,
    tenant           text  NOT NULL,
    principal        text  NOT NULL,
    destination      text  NOT NULL,
    operation        text  NOT NULL,
    forgotten_before int8,
    CONSTRAINT scope_key                 PRIMARY KEY (lane, digest),
    CONSTRAINT scope_digest_is_16_bytes  CHECK (octet_length(digest) = 16),
    CONSTRAINT scope_lane_is_the_digests CHECK (lane = get_byte(digest, 0))
);

-- An identity stays taken: `identity_digest` is its row in factum.identity, which goes with the tombstone.
CREATE TABLE factum.tombstone (
    lane            int2  NOT NULL,
    identity        bytea NOT NULL,
    action          uuid  NOT NULL,
    fingerprint     bytea NOT NULL,
    identity_digest bytea NOT NULL,
    scope           bytea NOT NULL,
    state           text  NOT NULL,
    intent_at       int8,
    settled_at      int8  NOT NULL,
    purged_at       int8  NOT NULL,
    CONSTRAINT tombstone_key                    PRIMARY KEY (lane, identity),
    CONSTRAINT tombstone_identity_is_32_bytes   CHECK (octet_length(identity) = 32),
    CONSTRAINT tombstone_lane_is_the_identitys  CHECK (lane = get_byte(identity, 0)),
    CONSTRAINT tombstone_fingerprint_is_32_bytes CHECK (octet_length(fingerprint) = 32),
    CONSTRAINT tombstone_digest_is_32_bytes     CHECK (octet_length(identity_digest) = 32),
    CONSTRAINT tombstone_scope_is_16_bytes      CHECK (octet_length(scope) = 16)
);

CREATE UNIQUE INDEX tombstone_action ON factum.tombstone (lane, action);
CREATE INDEX tombstone_scope ON factum.tombstone (scope, intent_at) WHERE intent_at IS NOT NULL;

-- Evidence that came after its action was taken away. It goes with its tombstone.
CREATE TABLE factum.late_evidence (
    lane   int2 NOT NULL,
    action uuid NOT NULL,
    no     int8 NOT NULL,
    at     int8 NOT NULL,
    kind   text NOT NULL,
    fact   text NOT NULL,
    seal   bytea,
    CONSTRAINT late_evidence_key         PRIMARY KEY (lane, action, no),
    CONSTRAINT late_evidence_is_numbered CHECK (no >= 1)
);

-- The names of an action are found when it is taken away.
CREATE INDEX known_by_action ON factum.known_by (action_lane, action);
CREATE INDEX report_action ON factum.report (action) WHERE action IS NOT NULL;

-- As factum.identify; and of an identity that is new, whether its scope has forgotten it: then it stays unnamed, and the answer is
-- null. The watermark is read after the row is taken, so that of a submission and a purge at once the later one sees the earlier.
CREATE FUNCTION factum.identify_kept(p_lane int2, p_digest bytea, p_action uuid, p_scope bytea, p_intent_at int8) RETURNS uuid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_action uuid := factum.identify(p_lane, p_digest, p_action);
BEGIN
    IF v_action = p_action AND p_intent_at IS NOT NULL AND EXISTS (
        SELECT FROM factum.scope s WHERE s.lane = get_byte(p_scope, 0) AND s.digest = p_scope AND s.forgotten_before > p_intent_at)
    THEN
        DELETE FROM factum.identity i WHERE i.lane = p_lane AND i.digest = p_digest AND i.action = p_action;
        RETURN NULL;
    END IF;
    RETURN v_action;
END $$;
