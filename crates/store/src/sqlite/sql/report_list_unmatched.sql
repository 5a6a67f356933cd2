SELECT r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.lane, r.action, r.sum, r.no
FROM report r INDEXED BY report_unmatched
WHERE r.tenant = ?1 AND r.no < ?2 AND r.action IS NULL
ORDER BY r.no DESC LIMIT ?3
