-- Reports by destinations, and the names by which they find an action. A name is a hash over tenant, destination, operation and
-- the text, so that nothing crosses (law 9) and every one is equally long. Who looks for a name has no lane: these keys begin
-- with the name. Actions of earlier versions are known by the names that they get from here on.

CREATE TABLE known_by (
    name   BLOB    NOT NULL,
    lane   INTEGER NOT NULL,
    action BLOB    NOT NULL,
    sum    BLOB    NOT NULL,
    PRIMARY KEY (name, lane, action),
    CONSTRAINT known_by_has_an_action    FOREIGN KEY (lane, action) REFERENCES action (lane, id),
    CONSTRAINT known_by_name_is_32_bytes CHECK (length(name) = 32),
    CONSTRAINT known_by_sum_is_16_bytes  CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;

CREATE INDEX known_by_action ON known_by (lane, action);

-- Every report that was verified, for a stated time: a repeated one is known by its id.
CREATE TABLE report (
    no          INTEGER NOT NULL PRIMARY KEY,
    id          BLOB    NOT NULL,
    at          INTEGER NOT NULL,
    tenant      TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    readings    TEXT    NOT NULL,
    body        BLOB    NOT NULL,
    lane        INTEGER,
    action      BLOB,
    sum         BLOB    NOT NULL,
    CONSTRAINT report_has_an_action     FOREIGN KEY (lane, action) REFERENCES action (lane, id),
    CONSTRAINT report_id_is_16_bytes    CHECK (length(id) = 16),
    CONSTRAINT report_action_is_whole   CHECK ((lane IS NULL) = (action IS NULL)),
    CONSTRAINT report_sum_is_16_bytes   CHECK (length(sum) = 16)
) STRICT;

CREATE UNIQUE INDEX report_id ON report (id);
CREATE INDEX report_tenant ON report (tenant, no);
CREATE INDEX report_unmatched ON report (tenant, no) WHERE action IS NULL;
CREATE INDEX report_action ON report (lane, action) WHERE action IS NOT NULL;

-- The names that a report carries.
CREATE TABLE report_name (
    name   BLOB    NOT NULL,
    report INTEGER NOT NULL,
    PRIMARY KEY (name, report),
    CONSTRAINT report_name_has_a_report     FOREIGN KEY (report) REFERENCES report (no) ON DELETE CASCADE,
    CONSTRAINT report_name_name_is_32_bytes CHECK (length(name) = 32)
) STRICT, WITHOUT ROWID;

CREATE INDEX report_name_report ON report_name (report);
