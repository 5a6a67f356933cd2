-- Sealed content. What is confidential stands in its column as `~1:`, the number of a key, `:` and base64; the keys are not in the file.
-- A text is sealed anew under a newer key, and so the triggers let that alone be changed of what is append-only: what it says is held by
-- the seal and by the chain, and a row's checksum is over all of it.
DROP TRIGGER evidence_is_never_changed;
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE OF lane, action, no, at, kind, seal ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_keeps_its_chain BEFORE UPDATE OF chain ON evidence WHEN OLD.chain IS NOT NULL AND NEW.chain IS NOT OLD.chain
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_stays_sealed BEFORE UPDATE OF fact ON evidence WHEN NEW.fact NOT LIKE '~1:%'
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

DROP TRIGGER late_evidence_is_never_changed;
CREATE TRIGGER late_evidence_is_never_changed BEFORE UPDATE OF lane, action, no, at, kind, seal ON late_evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER late_evidence_stays_sealed BEFORE UPDATE OF fact ON late_evidence WHEN NEW.fact NOT LIKE '~1:%'
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

DROP TRIGGER entry_version_is_never_changed;
CREATE TRIGGER entry_version_is_never_changed BEFORE UPDATE OF kind, tenant, id, version, at, who, why ON entry_version
BEGIN SELECT RAISE(ABORT, 'the versions of an entry are append-only'); END;
CREATE TRIGGER entry_version_stays_sealed BEFORE UPDATE OF body ON entry_version WHEN NEW.body NOT LIKE '~1:%'
BEGIN SELECT RAISE(ABORT, 'the versions of an entry are append-only'); END;
