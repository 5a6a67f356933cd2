-- This worker lives; those that have not said so for long are forgotten.
-- READ COMMITTED; locks the rows of `worker`.
WITH beat AS (
    INSERT INTO factum.worker (nonce, until) VALUES ($1, $2)
    ON CONFLICT (nonce) DO UPDATE SET until = excluded.until
)
DELETE FROM factum.worker WHERE until <= $3 AND nonce <> $1
