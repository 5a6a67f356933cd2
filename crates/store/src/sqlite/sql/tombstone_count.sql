SELECT (SELECT count(*) FROM tombstone) + (SELECT count(*) FROM forgotten)
