-- Entries that are changed together, all or none: one statement, one transaction. READ COMMITTED. Of two changes at once the key
-- of `entry_version` lets one through, and refuses the other as a whole.
WITH wish AS MATERIALIZED (
    SELECT * FROM unnest($1::int2[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::text[], $7::text[], $8::int8[],
        $9::text[], $10::text[], $13::text[]) AS w (lane, kind, tenant, id, version, body, label, due, who, why, topic)
), fits AS MATERIALIZED (
    SELECT 1 WHERE NOT EXISTS (
        SELECT 1 FROM wish w LEFT JOIN factum.entry e
            ON e.lane = w.lane AND e.kind = w.kind AND e.tenant = w.tenant AND e.id = w.id
        WHERE coalesce(e.version, 0) <> w.version - 1)
), kept AS (
    INSERT INTO factum.entry_version (lane, kind, tenant, id, version, body, at, who, why)
    SELECT lane, kind, tenant, id, version, body, $11::int8, who, why FROM fits, wish
), stands AS (
    INSERT INTO factum.entry (lane, kind, tenant, id, version, body, label, due, at, who, why)
    SELECT lane, kind, tenant, id, version, body, label, due, $11::int8, who, why FROM fits, wish
    ON CONFLICT (lane, kind, tenant, id) DO UPDATE SET version = excluded.version, body = excluded.body,
        label = excluded.label, due = excluded.due, at = excluded.at, who = excluded.who, why = excluded.why
), told AS (
    INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
    SELECT lane, tenant, id, version, topic, 1::int8, 0::int8, $11::int8 FROM fits, wish WHERE topic IS NOT NULL
), counted AS (
    UPDATE factum.edition SET number = number + 1 FROM fits WHERE one = 1 AND $12::bool
    RETURNING number
)
SELECT coalesce((SELECT number FROM counted), (SELECT number FROM factum.edition WHERE one = 1)) FROM fits
