-- This worker lives until $2; those that have not said so for very long are forgotten. Until then their claims are known to be of somebody
-- who stopped saying so.
-- READ COMMITTED; locks the rows of `worker`.
WITH beat AS (
    INSERT INTO factum.worker (nonce, until) VALUES ($1, $2)
    ON CONFLICT (nonce) DO UPDATE SET until = excluded.until
)
DELETE FROM factum.worker WHERE until <= $3 AND nonce <> $1
