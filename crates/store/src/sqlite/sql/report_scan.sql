SELECT r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.lane, r.action, r.sum, r.no
FROM report r
