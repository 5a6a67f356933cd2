-- The texts of an action and of its log ($7 to $9) sealed anew; with a link ($10) also the chain that an earlier version did not make, if
-- the action is still at that version and nobody decides on it: its version rises, so that whoever read it without a chain writes nothing on
-- top. READ COMMITTED; locks the rows of the action.
WITH chained AS (
    UPDATE factum.standing SET chain = $10, version = version + 1
    WHERE lane = $1 AND id = $2 AND version = $11 AND chain IS NULL AND next_at IS NULL AND $10::bytea IS NOT NULL
    RETURNING id
), sealed AS (
    UPDATE factum.action SET params = $3, payload = $4, head = $5, seal = $6 WHERE lane = $1 AND id = $2
    RETURNING id
)
UPDATE factum.evidence e SET fact = w.fact, chain = CASE WHEN EXISTS (SELECT FROM chained) THEN w.chain ELSE e.chain END
FROM unnest($7::int8[], $8::text[], $9::bytea[]) AS w (no, fact, chain)
WHERE e.lane = $1 AND e.action = $2 AND e.no = w.no AND EXISTS (SELECT FROM sealed)
