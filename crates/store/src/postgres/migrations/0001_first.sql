-- The first schema. Every primary key and every unique index begins with the lane, the first byte of the identity hash; no
-- triggers, no domains, no clock in any statement, so that the tables distribute by lane as they are. Instants are microseconds
-- since 1970-01-01T00:00:00Z. `seal` and `chain` are columns for what comes later: sealed content and the hash chain.

-- What is fixed at submission.
CREATE TABLE factum.action (
    lane         int2  NOT NULL,
    id           uuid  NOT NULL,
    identity     bytea NOT NULL,
    fingerprint  bytea NOT NULL,
    contract     bytea NOT NULL,
    tenant       text  NOT NULL,
    name         text  NOT NULL,
    conversation text,
    params       text  NOT NULL,
    payload      text  NOT NULL,
    head         text  NOT NULL,
    seal         bytea,
    CONSTRAINT action_key                     PRIMARY KEY (lane, id),
    CONSTRAINT action_lane_is_a_byte          CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT action_identity_is_32_bytes    CHECK (octet_length(identity) = 32),
    CONSTRAINT action_lane_is_the_identitys   CHECK (lane = get_byte(identity, 0)),
    CONSTRAINT action_id_carries_the_lane     CHECK (get_byte(uuid_send(id), 9) = lane),
    CONSTRAINT action_fingerprint_is_32_bytes CHECK (octet_length(fingerprint) = 32),
    CONSTRAINT action_contract_is_32_bytes    CHECK (octet_length(contract) = 32)
);

CREATE UNIQUE INDEX action_identity ON factum.action (lane, identity);
-- With the lane behind: the planner may take it for one action too, and then stays on its lane.
CREATE INDEX action_newest ON factum.action (id, lane);
CREATE INDEX action_name ON factum.action (name, id);
CREATE INDEX action_conversation ON factum.action (conversation, id) WHERE conversation IS NOT NULL;

-- How an action stands: rewritten with every record and every decision. The claim stands here too: which worker may write a
-- decision, until when; the token is new with every claim.
CREATE TABLE factum.standing (
    lane        int2 NOT NULL,
    id          uuid NOT NULL,
    version     int8 NOT NULL,
    records     int8 NOT NULL,
    state       text NOT NULL,
    closed      bool NOT NULL,
    next_step   text NOT NULL,
    next_at     int8,
    next_why    text NOT NULL,
    destination text NOT NULL,
    claim_token int8 NOT NULL,
    claim_by    int8,
    claim_until int8,
    chain       bytea,
    CONSTRAINT standing_key              PRIMARY KEY (lane, id),
    CONSTRAINT standing_has_an_action    FOREIGN KEY (lane, id) REFERENCES factum.action (lane, id),
    CONSTRAINT standing_version_rises    CHECK (version >= 1),
    CONSTRAINT standing_records_counted  CHECK (records >= 0),
    CONSTRAINT standing_state_is_known   CHECK (state IN (
        'pending', 'dispatching', 'accepted', 'succeeded', 'retryable_failure',
        'terminal_failure', 'outcome_unknown', 'cancelled', 'expired')),
    CONSTRAINT standing_step_is_known    CHECK (next_step IN (
        'send', 'look_up', 'poll', 'cancel_by_key', 'wait', 'review', 'none')),
    CONSTRAINT standing_step_has_a_time  CHECK ((next_at IS NULL) = (next_step IN ('review', 'none'))),
    -- Law 8: nothing is forgotten. Only what is settled has no next step.
    CONSTRAINT standing_none_is_settled  CHECK (
        next_step <> 'none' OR closed
        OR state IN ('succeeded', 'terminal_failure', 'cancelled', 'expired')),
    CONSTRAINT standing_final_is_not_closed CHECK (
        NOT closed OR state NOT IN ('succeeded', 'terminal_failure', 'cancelled', 'expired')),
    CONSTRAINT standing_claim_is_whole   CHECK ((claim_by IS NULL) = (claim_until IS NULL))
);

CREATE INDEX standing_due ON factum.standing (lane, next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX standing_soonest ON factum.standing (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX standing_state ON factum.standing (state, id);
CREATE INDEX standing_review ON factum.standing (id) WHERE next_step = 'review';

-- The log. Append-only: no statement of ours changes or removes a row, and the application's role may not.
CREATE TABLE factum.evidence (
    lane   int2 NOT NULL,
    action uuid NOT NULL,
    no     int8 NOT NULL,
    at     int8 NOT NULL,
    kind   text NOT NULL,
    fact   text NOT NULL,
    seal   bytea,
    chain  bytea,
    CONSTRAINT evidence_key           PRIMARY KEY (lane, action, no),
    CONSTRAINT evidence_has_an_action FOREIGN KEY (lane, action) REFERENCES factum.action (lane, id),
    CONSTRAINT evidence_is_numbered   CHECK (no >= 1)
);

-- Names by which a destination's reports find an action: a hash over tenant, destination, operation and the text, so that nothing
-- crosses (law 9). A name has a lane of its own, its first byte: whoever looks for a name knows no action yet.
CREATE TABLE factum.known_by (
    lane        int2  NOT NULL,
    name        bytea NOT NULL,
    action_lane int2  NOT NULL,
    action      uuid  NOT NULL,
    CONSTRAINT known_by_key               PRIMARY KEY (lane, name, action_lane, action),
    CONSTRAINT known_by_name_is_32_bytes  CHECK (octet_length(name) = 32),
    CONSTRAINT known_by_lane_is_the_names CHECK (lane = get_byte(name, 0))
);

-- Every report that was verified, for a stated time: a repeated one is known by its id, whose first byte is its lane.
CREATE SEQUENCE factum.report_no;
CREATE TABLE factum.report (
    lane        int2  NOT NULL,
    id          bytea NOT NULL,
    no          int8  NOT NULL DEFAULT nextval('factum.report_no'),
    at          int8  NOT NULL,
    tenant      text  NOT NULL,
    destination text  NOT NULL,
    readings    text  NOT NULL,
    body        bytea NOT NULL,
    action      uuid,
    CONSTRAINT report_key              PRIMARY KEY (lane, id),
    CONSTRAINT report_id_is_16_bytes   CHECK (octet_length(id) = 16),
    CONSTRAINT report_lane_is_the_ids  CHECK (lane = get_byte(id, 0))
);

CREATE INDEX report_number ON factum.report (no);
CREATE INDEX report_tenant ON factum.report (tenant, no);
CREATE INDEX report_unmatched ON factum.report (tenant, no) WHERE action IS NULL;

-- The names that a report carries.
CREATE TABLE factum.report_name (
    lane        int2  NOT NULL,
    name        bytea NOT NULL,
    report_lane int2  NOT NULL,
    report      bytea NOT NULL,
    CONSTRAINT report_name_key               PRIMARY KEY (lane, name, report_lane, report),
    CONSTRAINT report_name_name_is_32_bytes  CHECK (octet_length(name) = 32),
    CONSTRAINT report_name_lane_is_the_names CHECK (lane = get_byte(name, 0))
);

CREATE INDEX report_name_report ON factum.report_name (report_lane, report);

-- Texts of pinned contracts.
CREATE TABLE factum.contract (
    digest bytea NOT NULL,
    text   text  NOT NULL,
    CONSTRAINT contract_key                PRIMARY KEY (digest),
    CONSTRAINT contract_digest_is_32_bytes CHECK (octet_length(digest) = 32)
);

-- Store-wide settings, such as `paused`.
CREATE TABLE factum.setting (
    name  text NOT NULL,
    value text NOT NULL,
    CONSTRAINT setting_key PRIMARY KEY (name)
);

-- What the store knows about itself: one row.
CREATE TABLE factum.meta (
    one       int2  NOT NULL,
    store     bytea NOT NULL,
    key_check bytea NOT NULL,
    CONSTRAINT meta_key                   PRIMARY KEY (one),
    CONSTRAINT meta_is_one_row            CHECK (one = 1),
    CONSTRAINT meta_store_is_16_bytes     CHECK (octet_length(store) = 16),
    CONSTRAINT meta_key_check_is_16_bytes CHECK (octet_length(key_check) = 16)
);

-- The last restore from a copy: at most one row.
CREATE TABLE factum.restore (
    one         int2 NOT NULL,
    copy_until  int8 NOT NULL,
    at          int8 NOT NULL,
    released_by text,
    released_at int8,
    CONSTRAINT restore_key              PRIMARY KEY (one),
    CONSTRAINT restore_is_one_row       CHECK (one = 1),
    CONSTRAINT restore_released_by_whom CHECK ((released_by IS NULL) = (released_at IS NULL))
);

-- Workers, and until when each is taken to live. They share the lanes among themselves by this; no correctness rests on it.
CREATE TABLE factum.worker (
    nonce int8 NOT NULL,
    until int8 NOT NULL,
    CONSTRAINT worker_key PRIMARY KEY (nonce)
);
