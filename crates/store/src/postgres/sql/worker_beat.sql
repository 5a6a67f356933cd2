-- This worker, which knows schema $4, lives until $2, if the store takes such programs: what it takes is the answer. Those that have not
-- said so for very long are forgotten. Until then their claims are known to be of somebody who stopped saying so. Of several
-- that are just opening the store, at $5, the oldest counts.
-- READ COMMITTED; shares the row of `meta`, so that `floor` does not rise meanwhile, and locks rows of `worker`.
WITH store AS MATERIALIZED (
    SELECT floor FROM factum.meta WHERE one = 1::int2 FOR SHARE
), beat AS (
    INSERT INTO factum.worker (nonce, until, program) SELECT $1::int8, $2::int8, $4::int8 FROM store WHERE floor <= $4
    ON CONFLICT (nonce) DO UPDATE SET until = excluded.until,
        program = CASE WHEN worker.nonce = 0 AND worker.until > $5 THEN least(worker.program, excluded.program) ELSE excluded.program END
), forgotten AS (
    DELETE FROM factum.worker WHERE until <= $3 AND nonce <> $1
)
SELECT floor FROM store
