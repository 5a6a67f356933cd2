-- READ COMMITTED, of one moment; locks nothing.
SELECT kind, tenant, id, lane FROM factum.entry WHERE (kind, tenant, id) > ($1, $2, $3) ORDER BY kind, tenant, id LIMIT $4
