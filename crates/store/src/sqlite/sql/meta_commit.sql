UPDATE meta SET commits = commits + 1, stamp = max(stamp, ?1) WHERE one = 1 RETURNING commits
