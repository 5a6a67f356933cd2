-- One statement, one transaction: the report with its names, or nothing where it came before.
-- READ COMMITTED; waits for the same report where another transaction is just writing it.
WITH new AS (
    INSERT INTO factum.report (lane, id, at, tenant, destination, readings, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (lane, id) DO NOTHING
    RETURNING lane, id, no
), named AS (
    INSERT INTO factum.report_name (lane, name, report_lane, report)
    SELECT DISTINCT get_byte(k.name, 0)::int2, k.name, new.lane, new.id
    FROM new, unnest($8::bytea[]) AS k (name)
)
SELECT no FROM new
