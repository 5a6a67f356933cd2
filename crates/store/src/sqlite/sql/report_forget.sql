DELETE FROM report
WHERE no IN (SELECT no FROM report ORDER BY no LIMIT 100) AND (at < ?1 OR no <= ?2) AND no <> ?3
