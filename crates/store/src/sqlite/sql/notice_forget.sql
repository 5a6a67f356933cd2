DELETE FROM notice WHERE no IN (
    SELECT no FROM notice WHERE no < (SELECT max(no) FROM notice) ORDER BY no LIMIT ?2) AND at < ?1
