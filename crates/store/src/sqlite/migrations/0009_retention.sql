-- Retention: what stays of actions that were taken away. A scope has a row once something of it was; its digest is a hash over its
-- parts. `forgotten_before` only rises: identities whose intent is older are refused (R24).
CREATE TABLE scope (
    digest           BLOB    NOT NULL,
    tenant           TEXT    NOT NULL,
    principal        TEXT    NOT NULL,
    destination      TEXT    NOT NULL,
    operation        TEXT    NOT NULL,
    forgotten_before INTEGER,
    sum              BLOB    NOT NULL,
    PRIMARY KEY (digest),
    CONSTRAINT scope_digest_is_16_bytes CHECK (length(digest) = 16),
    CONSTRAINT scope_sum_is_16_bytes    CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER scope_watermark_rises BEFORE UPDATE ON scope
WHEN OLD.forgotten_before IS NOT NULL AND (NEW.forgotten_before IS NULL OR NEW.forgotten_before < OLD.forgotten_before)
BEGIN SELECT RAISE(ABORT, 'what is forgotten stays forgotten'); END;

CREATE TABLE tombstone (
    lane        INTEGER NOT NULL,
    identity    BLOB    NOT NULL,
    action      BLOB    NOT NULL,
    fingerprint BLOB    NOT NULL,
    digest      BLOB    NOT NULL,
    scope       BLOB    NOT NULL,
    state       TEXT    NOT NULL,
    intent_at   INTEGER,
    settled_at  INTEGER NOT NULL,
    purged_at   INTEGER NOT NULL,
    sum         BLOB    NOT NULL,
    PRIMARY KEY (lane, identity),
    CONSTRAINT tombstone_has_a_scope          FOREIGN KEY (scope) REFERENCES scope (digest),
    CONSTRAINT tombstone_identity_is_32_bytes CHECK (length(identity) = 32),
    CONSTRAINT tombstone_lane_is_the_identitys CHECK (hex(substr(identity, 1, 1)) = printf('%02X', lane)),
    CONSTRAINT tombstone_action_is_16_bytes   CHECK (length(action) = 16),
    CONSTRAINT tombstone_fingerprint_is_32_bytes CHECK (length(fingerprint) = 32),
    CONSTRAINT tombstone_digest_is_32_bytes   CHECK (length(digest) = 32),
    CONSTRAINT tombstone_sum_is_16_bytes      CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tombstone_action ON tombstone (lane, action);
CREATE INDEX tombstone_scope ON tombstone (scope, intent_at) WHERE intent_at IS NOT NULL;

-- Evidence that came after its action was taken away. Append-only; it goes with its tombstone.
CREATE TABLE late_evidence (
    lane   INTEGER NOT NULL,
    action BLOB    NOT NULL,
    no     INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    fact   TEXT    NOT NULL,
    seal   BLOB,
    sum    BLOB    NOT NULL,
    PRIMARY KEY (lane, action, no),
    CONSTRAINT late_evidence_is_numbered     CHECK (no >= 1),
    CONSTRAINT late_evidence_sum_is_16_bytes CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER late_evidence_is_never_changed BEFORE UPDATE ON late_evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

-- The log of an action goes with the action, and with nothing less.
DROP TRIGGER evidence_is_never_removed;
CREATE TRIGGER evidence_is_never_removed BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM tombstone t WHERE t.lane = OLD.lane AND t.action = OLD.action)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
