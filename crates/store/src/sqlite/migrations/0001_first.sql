-- The first schema. Every primary key begins with the lane, the first byte of the identity hash.
-- Instants are microseconds since 1970-01-01T00:00:00Z. `seal` and `chain` are columns for what comes later: sealed content
-- and the hash chain over evidence. `sum` is a keyed checksum over every other column of its row.

-- What is fixed at submission.
CREATE TABLE action (
    lane         INTEGER NOT NULL,
    id           BLOB    NOT NULL,
    identity     BLOB    NOT NULL,
    fingerprint  BLOB    NOT NULL,
    contract     BLOB    NOT NULL,
    tenant       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    conversation TEXT,
    params       TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    head         TEXT    NOT NULL,
    seal         BLOB,
    sum          BLOB    NOT NULL,
    PRIMARY KEY (lane, id),
    CONSTRAINT action_lane_is_a_byte        CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT action_id_is_16_bytes        CHECK (length(id) = 16),
    CONSTRAINT action_identity_is_32_bytes  CHECK (length(identity) = 32),
    CONSTRAINT action_lane_is_the_identitys CHECK (hex(substr(identity, 1, 1)) = printf('%02X', lane)),
    CONSTRAINT action_id_carries_the_lane   CHECK (substr(id, 10, 1) = substr(identity, 1, 1)),
    CONSTRAINT action_fingerprint_is_32_bytes CHECK (length(fingerprint) = 32),
    CONSTRAINT action_contract_is_32_bytes  CHECK (length(contract) = 32),
    CONSTRAINT action_sum_is_16_bytes       CHECK (length(sum) = 16)
) STRICT;

CREATE UNIQUE INDEX action_identity ON action (identity);
CREATE INDEX action_newest ON action (id);
CREATE INDEX action_name ON action (name, id);
CREATE INDEX action_conversation ON action (conversation, id) WHERE conversation IS NOT NULL;

-- How an action stands: rewritten with every record and every decision.
CREATE TABLE standing (
    lane        INTEGER NOT NULL,
    id          BLOB    NOT NULL,
    version     INTEGER NOT NULL,
    records     INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    closed      INTEGER NOT NULL,
    next_step   TEXT    NOT NULL,
    next_at     INTEGER,
    next_why    TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    chain       BLOB,
    sum         BLOB    NOT NULL,
    PRIMARY KEY (lane, id),
    CONSTRAINT standing_has_an_action    FOREIGN KEY (lane, id) REFERENCES action (lane, id),
    CONSTRAINT standing_version_rises    CHECK (version >= 1),
    CONSTRAINT standing_records_counted  CHECK (records >= 0),
    CONSTRAINT standing_state_is_known   CHECK (state IN (
        'pending', 'dispatching', 'accepted', 'succeeded', 'retryable_failure',
        'terminal_failure', 'outcome_unknown', 'cancelled', 'expired')),
    CONSTRAINT standing_closed_is_a_flag CHECK (closed IN (0, 1)),
    CONSTRAINT standing_step_is_known    CHECK (next_step IN (
        'send', 'look_up', 'poll', 'cancel_by_key', 'wait', 'review', 'none')),
    CONSTRAINT standing_step_has_a_time  CHECK ((next_at IS NULL) = (next_step IN ('review', 'none'))),
    -- Law 8: nothing is forgotten. Only what is settled has no next step. The other way round does not hold: the state is
    -- read under the pinned contract and the step under the stricter of it and the current one, so that a corrected
    -- contract may look up what was final.
    CONSTRAINT standing_none_is_settled  CHECK (
        next_step <> 'none' OR closed = 1
        OR state IN ('succeeded', 'terminal_failure', 'cancelled', 'expired')),
    CONSTRAINT standing_final_is_not_closed CHECK (
        closed = 0 OR state NOT IN ('succeeded', 'terminal_failure', 'cancelled', 'expired')),
    CONSTRAINT standing_sum_is_16_bytes  CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE INDEX standing_due ON standing (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX standing_state ON standing (state, id);
CREATE INDEX standing_review ON standing (id) WHERE next_step = 'review';

-- The log. Append-only.
CREATE TABLE evidence (
    lane   INTEGER NOT NULL,
    action BLOB    NOT NULL,
    no     INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    fact   TEXT    NOT NULL,
    seal   BLOB,
    chain  BLOB,
    sum    BLOB    NOT NULL,
    PRIMARY KEY (lane, action, no),
    CONSTRAINT evidence_has_an_action FOREIGN KEY (lane, action) REFERENCES action (lane, id),
    CONSTRAINT evidence_is_numbered   CHECK (no >= 1),
    CONSTRAINT evidence_sum_is_16_bytes CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TRIGGER evidence_is_never_removed BEFORE DELETE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

-- Texts of pinned contracts.
CREATE TABLE contract (
    digest BLOB NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL,
    CONSTRAINT contract_digest_is_32_bytes CHECK (length(digest) = 32)
) STRICT;

-- Store-wide settings, such as `paused`.
CREATE TABLE setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- What the store knows about itself: one row.
CREATE TABLE meta (
    one         INTEGER NOT NULL PRIMARY KEY,
    store       BLOB    NOT NULL,
    incarnation BLOB    NOT NULL,
    key_check   BLOB    NOT NULL,
    commits     INTEGER NOT NULL,
    stamp       INTEGER NOT NULL,
    CONSTRAINT meta_is_one_row             CHECK (one = 1),
    CONSTRAINT meta_store_is_16_bytes      CHECK (length(store) = 16),
    CONSTRAINT meta_incarnation_is_16_bytes CHECK (length(incarnation) = 16),
    CONSTRAINT meta_key_check_is_16_bytes  CHECK (length(key_check) = 16),
    CONSTRAINT meta_commits_counted        CHECK (commits >= 0)
) STRICT;

-- The last restore from a copy: at most one row.
CREATE TABLE restore (
    one         INTEGER NOT NULL PRIMARY KEY,
    copy_until  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    released_by TEXT,
    released_at INTEGER,
    CONSTRAINT restore_is_one_row       CHECK (one = 1),
    CONSTRAINT restore_released_by_whom CHECK ((released_by IS NULL) = (released_at IS NULL))
) STRICT;
