SELECT state, next_step, count(*) FROM standing GROUP BY state, next_step
