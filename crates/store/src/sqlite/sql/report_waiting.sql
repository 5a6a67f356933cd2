SELECT r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.lane, r.action, r.sum, r.no
FROM report_name n CROSS JOIN report r ON r.no = n.report
WHERE n.name = ?1 AND r.action IS NULL
ORDER BY n.report
