-- What outsiders are told has changed, in the order of commits: one writer numbers them. The last row is never removed, so that
-- numbers go on behind it.
CREATE TABLE notice (
    no      INTEGER NOT NULL PRIMARY KEY,
    at      INTEGER NOT NULL,
    tenant  TEXT    NOT NULL,
    topic   TEXT    NOT NULL,
    about   TEXT    NOT NULL,
    version INTEGER NOT NULL,
    records INTEGER NOT NULL,
    sum     BLOB    NOT NULL,
    CONSTRAINT notice_is_numbered      CHECK (no >= 1),
    CONSTRAINT notice_version_rises    CHECK (version >= 1),
    CONSTRAINT notice_records_counted  CHECK (records >= 0),
    CONSTRAINT notice_sum_is_16_bytes  CHECK (length(sum) = 16)
) STRICT;
