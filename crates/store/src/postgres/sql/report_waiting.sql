-- READ COMMITTED, of one moment; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action
FROM factum.report_name n JOIN factum.report r ON r.lane = n.report_lane AND r.id = n.report
WHERE n.lane = $1 AND n.name = $2 AND r.action IS NULL
ORDER BY r.no
