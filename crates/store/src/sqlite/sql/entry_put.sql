INSERT INTO entry (kind, tenant, id, lane, version, body, label, due, at, who, why, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (kind, tenant, id) DO UPDATE SET version = excluded.version, body = excluded.body, label = excluded.label,
    due = excluded.due, at = excluded.at, who = excluded.who, why = excluded.why, sum = excluded.sum
WHERE entry.version = excluded.version - 1 AND entry.lane = excluded.lane
