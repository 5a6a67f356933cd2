-- What an action works on, as its caller names it (R14): found by tenant, destination and subject. Both columns repeat what
-- stands in `head`, which the checksum covers; a row where they differ is damaged.
ALTER TABLE action ADD COLUMN subject TEXT;
ALTER TABLE action ADD COLUMN destination TEXT
    CONSTRAINT action_subject_has_a_place CHECK ((subject IS NULL) = (destination IS NULL));
CREATE INDEX action_subject ON action (tenant, destination, subject, id) WHERE subject IS NOT NULL;
