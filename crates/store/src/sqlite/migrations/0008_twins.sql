-- Twins: which actions of equal content in one scope may still hold another one off (R16). `digest` is a hash over scope and
-- fingerprint; its first byte is the row's lane. `actions` are ids of 16 bytes each, oldest first.
CREATE TABLE twin (
    lane    INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    actions BLOB    NOT NULL,
    sum     BLOB    NOT NULL,
    PRIMARY KEY (lane, digest),
    CONSTRAINT twin_digest_is_32_bytes   CHECK (length(digest) = 32),
    CONSTRAINT twin_lane_is_the_digests  CHECK (hex(substr(digest, 1, 1)) = printf('%02X', lane)),
    CONSTRAINT twin_actions_are_ids      CHECK (length(actions) > 0 AND length(actions) % 16 = 0),
    CONSTRAINT twin_sum_is_16_bytes      CHECK (length(sum) = 16)
) STRICT, WITHOUT ROWID;
