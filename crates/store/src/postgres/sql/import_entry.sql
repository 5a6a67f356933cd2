-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- An entry as it stood elsewhere, with all its versions.
WITH versions AS (
    INSERT INTO factum.entry_version (lane, kind, tenant, id, version, body, at, who, why)
    SELECT $1::int2, $2::text, $3::text, $4::text, v.version, v.body, v.at, v.who, v.why
    FROM unnest($7::int8[], $8::text[], $9::int8[], $10::text[], $11::text[]) AS v (version, body, at, who, why)
)
INSERT INTO factum.entry (lane, kind, tenant, id, version, body, label, due, at, who, why)
SELECT $1::int2, $2::text, $3::text, $4::text, v.version, v.body, $5::text, $6::int8, v.at, v.who, v.why
FROM unnest($7::int8[], $8::text[], $9::int8[], $10::text[], $11::text[]) AS v (version, body, at, who, why)
ORDER BY v.version DESC LIMIT 1
