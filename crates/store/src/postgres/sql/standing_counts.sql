-- READ COMMITTED, of one moment; locks nothing.
SELECT state, next_step, count(*)::int8 FROM factum.standing GROUP BY state, next_step
