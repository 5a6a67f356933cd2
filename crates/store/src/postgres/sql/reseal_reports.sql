-- READ COMMITTED, of one moment; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action FROM factum.report r
WHERE r.no > $1 ORDER BY r.no LIMIT $2
