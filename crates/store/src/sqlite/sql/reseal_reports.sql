SELECT r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.lane, r.action, r.sum, r.no
FROM report r WHERE r.no > ?1 ORDER BY r.no LIMIT ?2
