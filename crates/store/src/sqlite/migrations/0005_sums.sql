-- Checksums for the small tables that had none: kept contracts, settings, the restore. A row that an earlier version wrote gets
-- its own at the next opening.
ALTER TABLE contract ADD COLUMN sum BLOB
    CONSTRAINT contract_sum_is_16_bytes CHECK (length(sum) = 16);
ALTER TABLE setting ADD COLUMN sum BLOB
    CONSTRAINT setting_sum_is_16_bytes CHECK (length(sum) = 16);
ALTER TABLE restore ADD COLUMN sum BLOB
    CONSTRAINT restore_sum_is_16_bytes CHECK (length(sum) = 16);
