-- Reports that found nothing, and whose names are known by now: left by a worker that died between the two.
-- READ COMMITTED, of one moment; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action FROM factum.report r
WHERE r.action IS NULL AND EXISTS (
    SELECT 1 FROM factum.report_name n JOIN factum.known_by k ON k.lane = n.lane AND k.name = n.name
    WHERE n.report_lane = r.lane AND n.report = r.id)
ORDER BY r.no LIMIT $1
