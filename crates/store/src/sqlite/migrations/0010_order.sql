-- Rows in the order in which they come. One process writes this file, so the lane spreads no load here; a key that begins with it
-- made each command of a batch change pages of its own, where ids, which begin with the time, share them. The lane stays a column:
-- it is part of each row's identity, and of what moves to another store. The index of ids is the table's primary key too.

CREATE TABLE ordered_action (
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
    subject      TEXT,
    destination  TEXT,
    CONSTRAINT action_lane_is_a_byte        CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT action_id_is_16_bytes        CHECK (length(id) = 16),
    CONSTRAINT action_identity_is_32_bytes  CHECK (length(identity) = 32),
    CONSTRAINT action_lane_is_the_identitys CHECK (hex(substr(identity, 1, 1)) = printf('%02X', lane)),
    CONSTRAINT action_id_carries_the_lane   CHECK (substr(id, 10, 1) = substr(identity, 1, 1)),
    CONSTRAINT action_fingerprint_is_32_bytes CHECK (length(fingerprint) = 32),
    CONSTRAINT action_contract_is_32_bytes  CHECK (length(contract) = 32),
    CONSTRAINT action_subject_has_a_place   CHECK ((subject IS NULL) = (destination IS NULL)),
    CONSTRAINT action_sum_is_16_bytes       CHECK (length(sum) = 16)
) STRICT;

INSERT INTO ordered_action (lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head, seal, sum, subject, destination)
SELECT lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head, seal, sum, subject, destination
FROM action ORDER BY id;
DROP TABLE action;
ALTER TABLE ordered_action RENAME TO action;

CREATE UNIQUE INDEX action_newest ON action (id, lane);
CREATE UNIQUE INDEX action_identity ON action (identity);
CREATE INDEX action_name ON action (name, id);
CREATE INDEX action_conversation ON action (conversation, id) WHERE conversation IS NOT NULL;
CREATE INDEX action_subject ON action (tenant, destination, subject, id) WHERE subject IS NOT NULL;

CREATE TABLE ordered_standing (
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
    PRIMARY KEY (id, lane),
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

INSERT INTO ordered_standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination, chain, sum)
SELECT lane, id, version, records, state, closed, next_step, next_at, next_why, destination, chain, sum
FROM standing ORDER BY id;
DROP TABLE standing;
ALTER TABLE ordered_standing RENAME TO standing;

CREATE INDEX standing_due ON standing (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX standing_state ON standing (state, id);
CREATE INDEX standing_review ON standing (id) WHERE next_step = 'review';
CREATE INDEX standing_for_workers ON standing (destination, next_at, id)
    WHERE next_why = 'a worker carries it out in its own code' AND next_at IS NOT NULL;

CREATE TABLE ordered_evidence (
    lane   INTEGER NOT NULL,
    action BLOB    NOT NULL,
    no     INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    fact   TEXT    NOT NULL,
    seal   BLOB,
    chain  BLOB,
    sum    BLOB    NOT NULL,
    PRIMARY KEY (action, no, lane),
    CONSTRAINT evidence_has_an_action FOREIGN KEY (lane, action) REFERENCES action (lane, id),
    CONSTRAINT evidence_is_numbered   CHECK (no >= 1),
    CONSTRAINT evidence_sum_is_16_bytes CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

INSERT INTO ordered_evidence (lane, action, no, at, kind, fact, seal, chain, sum)
SELECT lane, action, no, at, kind, fact, seal, chain, sum
FROM evidence ORDER BY action, no;
DROP TABLE evidence;
ALTER TABLE ordered_evidence RENAME TO evidence;

CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TRIGGER evidence_is_never_removed BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM tombstone t WHERE t.lane = OLD.lane AND t.action = OLD.action)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

DROP INDEX known_by_action;
CREATE INDEX known_by_action ON known_by (action, lane);
