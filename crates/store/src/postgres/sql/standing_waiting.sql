-- How many actions have a next step at a time, counted up to $1. READ COMMITTED, of one moment; locks nothing.
SELECT count(*)::int8 FROM (SELECT 1 FROM factum.standing WHERE next_at IS NOT NULL LIMIT $1) AS waiting
