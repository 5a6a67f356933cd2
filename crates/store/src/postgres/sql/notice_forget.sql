-- READ COMMITTED; locks the rows that it removes. The last one stays.
WITH gone AS (
    DELETE FROM factum.notice WHERE at < $1::int8 AND no IN (
        SELECT no FROM factum.notice WHERE no < (SELECT max(no) FROM factum.notice) ORDER BY no LIMIT $2::int8)
    RETURNING no
)
SELECT count(*)::int8 FROM gone
