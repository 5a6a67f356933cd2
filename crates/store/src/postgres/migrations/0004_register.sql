-- The register: small named records beside the actions. A change writes a version, which is never changed and whose key lets one
-- of two changes at once through, and the entry as it stands. An entry lies in a lane of its own, or beside the action that it is
-- changed with, so that both are one transaction on one node.

CREATE TABLE factum.entry (
    lane    int2 NOT NULL,
    kind    text NOT NULL,
    tenant  text NOT NULL,
    id      text NOT NULL,
    version int8 NOT NULL,
    body    text NOT NULL,
    label   text,
    due     int8,
    at      int8 NOT NULL,
    who     text NOT NULL,
    why     text NOT NULL,
    CONSTRAINT entry_key            PRIMARY KEY (lane, kind, tenant, id),
    CONSTRAINT entry_lane_is_a_byte CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT entry_version_rises  CHECK (version >= 1)
);

-- With the lane behind, as with actions.
CREATE INDEX entry_listed ON factum.entry (kind, tenant, id, lane);
CREATE INDEX entry_label ON factum.entry (kind, label, tenant, id) WHERE label IS NOT NULL;
CREATE INDEX entry_due ON factum.entry (kind, due, tenant, id) WHERE due IS NOT NULL;
CREATE INDEX entry_changed ON factum.entry (kind, at);

CREATE TABLE factum.entry_version (
    lane    int2 NOT NULL,
    kind    text NOT NULL,
    tenant  text NOT NULL,
    id      text NOT NULL,
    version int8 NOT NULL,
    body    text NOT NULL,
    at      int8 NOT NULL,
    who     text NOT NULL,
    why     text NOT NULL,
    CONSTRAINT entry_version_key          PRIMARY KEY (lane, kind, tenant, id, version),
    CONSTRAINT entry_version_is_numbered  CHECK (version >= 1)
);

-- How often authority has changed: one row, which every mark compares with the edition that it was decided under.
CREATE TABLE factum.edition (
    one    int2 NOT NULL,
    number int8 NOT NULL,
    CONSTRAINT edition_key        PRIMARY KEY (one),
    CONSTRAINT edition_is_one_row CHECK (one = 1),
    CONSTRAINT edition_rises      CHECK (number >= 0)
);
INSERT INTO factum.edition (one, number) VALUES (1, 0);
