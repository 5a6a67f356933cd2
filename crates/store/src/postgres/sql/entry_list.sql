-- READ COMMITTED, of one moment; locks nothing.
SELECT lane, kind, tenant, id, version, body, label, due, at, who, why FROM factum.entry
WHERE kind = $1 AND (tenant, id) > ($2, $3) AND ($4::text IS NULL OR tenant = $4) AND ($5::text IS NULL OR label = $5)
ORDER BY tenant, id
LIMIT $6
