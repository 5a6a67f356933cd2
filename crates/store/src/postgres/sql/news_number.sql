-- One statement, one transaction, READ COMMITTED: what was committed gets its numbers. Locks the row of the last number; where another
-- one holds it, nothing is done, and nothing waits.
SELECT factum.number_news($1::int8)
