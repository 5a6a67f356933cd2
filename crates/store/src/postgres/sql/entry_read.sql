-- READ COMMITTED, of one moment; locks nothing.
SELECT lane, kind, tenant, id, version, body, label, due, at, who, why FROM factum.entry WHERE lane = $1 AND kind = $2 AND tenant = $3 AND id = $4
