-- What an action works on, as its caller names it (R14): found by tenant, destination and subject, over all lanes. Both columns
-- repeat what stands in `head`.
ALTER TABLE factum.action
    ADD COLUMN subject text,
    ADD COLUMN destination text,
    ADD CONSTRAINT action_subject_has_a_place CHECK ((subject IS NULL) = (destination IS NULL));
CREATE INDEX action_subject ON factum.action (tenant, destination, subject, id) WHERE subject IS NOT NULL;
