-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- A report as it was kept elsewhere, with its names.
WITH new AS (
    INSERT INTO factum.report (lane, id, no, at, tenant, destination, readings, body, action)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    RETURNING lane, id
)
INSERT INTO factum.report_name (lane, name, report_lane, report)
SELECT DISTINCT get_byte(k.name, 0)::int2, k.name, new.lane, new.id FROM new, unnest($10::bytea[]) AS k (name)
