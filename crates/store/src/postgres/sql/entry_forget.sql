-- READ COMMITTED; locks the rows of `entry`.
WITH old AS MATERIALIZED (
    SELECT lane, kind, tenant, id FROM factum.entry WHERE kind = $1 AND at < $2 ORDER BY at LIMIT $3
), versions AS (
    DELETE FROM factum.entry_version v USING old
    WHERE v.lane = old.lane AND v.kind = old.kind AND v.tenant = old.tenant AND v.id = old.id
), gone AS (
    DELETE FROM factum.entry e USING old
    WHERE e.lane = old.lane AND e.kind = old.kind AND e.tenant = old.tenant AND e.id = old.id
    RETURNING e.id
)
SELECT count(*)::int8 FROM gone
