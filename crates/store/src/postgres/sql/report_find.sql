-- READ COMMITTED, of one moment; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action FROM factum.report r WHERE r.lane = $1 AND r.id = $2
