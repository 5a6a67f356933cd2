-- The body of one version sealed anew, and of the entry if it stands at that version. READ COMMITTED; locks the rows of both.
WITH stands AS (
    UPDATE factum.entry SET body = $6 WHERE lane = $1 AND kind = $2 AND tenant = $3 AND id = $4 AND version = $5
)
UPDATE factum.entry_version SET body = $6 WHERE lane = $1 AND kind = $2 AND tenant = $3 AND id = $4 AND version = $5
