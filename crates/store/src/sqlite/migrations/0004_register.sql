-- The register: small named records beside the actions. A change writes a version, which is never changed, and the entry as it
-- stands. `edition` counts the changes of authority: one row.

CREATE TABLE entry (
    kind    TEXT    NOT NULL,
    tenant  TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    lane    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    label   TEXT,
    due     INTEGER,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    why     TEXT    NOT NULL,
    sum     BLOB    NOT NULL,
    PRIMARY KEY (kind, tenant, id),
    CONSTRAINT entry_lane_is_a_byte  CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT entry_version_rises   CHECK (version >= 1),
    CONSTRAINT entry_sum_is_16_bytes CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE INDEX entry_label ON entry (kind, label, tenant, id) WHERE label IS NOT NULL;
CREATE INDEX entry_due ON entry (kind, due, tenant, id) WHERE due IS NOT NULL;
CREATE INDEX entry_changed ON entry (kind, at);

CREATE TABLE entry_version (
    kind    TEXT    NOT NULL,
    tenant  TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    why     TEXT    NOT NULL,
    sum     BLOB    NOT NULL,
    PRIMARY KEY (kind, tenant, id, version),
    CONSTRAINT entry_version_has_an_entry    FOREIGN KEY (kind, tenant, id) REFERENCES entry (kind, tenant, id) ON DELETE CASCADE,
    CONSTRAINT entry_version_is_numbered     CHECK (version >= 1),
    CONSTRAINT entry_version_sum_is_16_bytes CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entry_version_is_never_changed BEFORE UPDATE ON entry_version
BEGIN SELECT RAISE(ABORT, 'the versions of an entry are append-only'); END;

CREATE TABLE edition (
    one    INTEGER NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    CONSTRAINT edition_is_one_row CHECK (one = 1),
    CONSTRAINT edition_rises      CHECK (number >= 0)
) STRICT;
INSERT INTO edition (one, number) VALUES (1, 0);
