DELETE FROM entry_version WHERE kind = ?1 AND at < ?2 AND NOT EXISTS (
    SELECT 1 FROM entry e
    WHERE e.kind = entry_version.kind AND e.tenant = entry_version.tenant AND e.id = entry_version.id AND e.version = entry_version.version)
