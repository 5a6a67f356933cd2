-- READ COMMITTED, of one moment; locks nothing.
SELECT lane, kind, tenant, id, version, body, label, due, at, who, why FROM factum.entry
WHERE kind = $1 AND due <= $2
ORDER BY due, tenant, id
LIMIT $3
