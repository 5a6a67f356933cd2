-- READ COMMITTED, of one moment; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action FROM factum.report r
WHERE r.tenant = $1 AND r.no < $2 AND (NOT $4::bool OR r.action IS NULL)
ORDER BY r.no DESC LIMIT $3
