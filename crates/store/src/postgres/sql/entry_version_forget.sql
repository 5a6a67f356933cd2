-- READ COMMITTED; locks the rows of `entry_version` that it removes: all but those that stand.
WITH gone AS (
    DELETE FROM factum.entry_version v WHERE v.kind = $1::text AND v.at < $2::int8 AND NOT EXISTS (
        SELECT 1 FROM factum.entry e
        WHERE e.lane = v.lane AND e.kind = v.kind AND e.tenant = v.tenant AND e.id = v.id AND e.version = v.version)
    RETURNING v.version
)
SELECT count(*)::int8 FROM gone
