-- READ COMMITTED, of one moment; locks nothing.
SELECT version, body, at, who, why FROM factum.entry_version
WHERE lane = $1 AND kind = $2 AND tenant = $3 AND id = $4 ORDER BY version
