-- The oldest, a few at a time: those stored before $1, and those beyond the number that is kept ($2), but not the newest ($3).
-- READ COMMITTED; locks the rows of `report`, then those of `report_name`.
WITH old AS (
    SELECT lane, id FROM factum.report WHERE no <> $3 AND (at < $1 OR no <= $2) ORDER BY no LIMIT 100
), gone AS (
    DELETE FROM factum.report r USING old WHERE r.lane = old.lane AND r.id = old.id RETURNING r.lane, r.id
)
DELETE FROM factum.report_name n USING gone WHERE n.report_lane = gone.lane AND n.report = gone.id
