-- Twins: which actions of equal content in one scope may still hold another one off (R16). `digest` is a hash over scope and
-- fingerprint; its first byte is the row's lane. `actions` are named oldest first; the version rises with every change, and whoever
-- records another one says which version it has looked at.
CREATE TABLE factum.twin (
    lane    int2   NOT NULL,
    digest  bytea  NOT NULL,
    version int8   NOT NULL,
    actions uuid[] NOT NULL,
    CONSTRAINT twin_key                PRIMARY KEY (lane, digest),
    CONSTRAINT twin_digest_is_32_bytes CHECK (octet_length(digest) = 32),
    CONSTRAINT twin_lane_is_the_digests CHECK (lane = get_byte(digest, 0)),
    CONSTRAINT twin_version_rises      CHECK (version >= 1),
    CONSTRAINT twin_names_an_action    CHECK (cardinality(actions) >= 1)
);
