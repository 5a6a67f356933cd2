-- Actions of which nothing is left, not even a tombstone: a checkpoint from before may list them, and they are not missing.
CREATE TABLE forgotten (
    lane   INTEGER NOT NULL,
    action BLOB    NOT NULL,
    sum    BLOB    NOT NULL,
    PRIMARY KEY (lane, action)
) STRICT, WITHOUT ROWID;
