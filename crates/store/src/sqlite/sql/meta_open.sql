UPDATE meta SET incarnation = ?1, commits = commits + 1, stamp = max(stamp, ?2) WHERE one = 1 RETURNING commits
