-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
-- By bytes, as the other backend orders them.
SELECT lane, kind, tenant, id, version, body, label, due, at, who, why FROM factum.entry
WHERE kind = $1 ORDER BY tenant COLLATE "C", id COLLATE "C"
