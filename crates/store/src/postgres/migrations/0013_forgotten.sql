-- Actions of which nothing is left, not even a tombstone: a checkpoint from before may list them, and they are not missing.
CREATE TABLE factum.forgotten (
    lane   int2 NOT NULL,
    action uuid NOT NULL,
    CONSTRAINT forgotten_key PRIMARY KEY (lane, action)
);
