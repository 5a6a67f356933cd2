SELECT r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.lane, r.action, r.sum, r.no
FROM report r INDEXED BY report_tenant
WHERE r.tenant = ?1 AND r.no < ?2
ORDER BY r.no DESC LIMIT ?3
