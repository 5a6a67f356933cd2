-- READ COMMITTED, of one moment; locks nothing. One row for each notice; one without a number where there is none, so that the ends are
-- always said: the last number before the oldest that is kept, and the last that is given.
WITH ends AS MATERIALIZED (
    SELECT l.number AS last, coalesce((SELECT min(no) FROM factum.notice) - 1, l.number) AS forgotten
    FROM factum.notice_last l WHERE l.one = 1
)
SELECT e.forgotten, e.last, n.no, n.at, n.tenant, n.topic, n.about, n.version, n.records
FROM ends e LEFT JOIN factum.notice n ON n.no > $1::int8 AND n.no <= $2::int8
ORDER BY n.no
