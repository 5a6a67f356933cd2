-- In a transaction that has locked the row. It never sinks. READ COMMITTED.
UPDATE factum.meta SET floor = greatest(floor, $1) WHERE one = 1::int2
