-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
SELECT r.no, r.id, r.at, r.tenant, r.destination, r.readings, r.body, r.action FROM factum.report r ORDER BY r.no
