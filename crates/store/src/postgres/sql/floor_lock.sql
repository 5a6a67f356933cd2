-- The same, until the end of the transaction: no worker says that it lives meanwhile. READ COMMITTED; locks the one row.
SELECT floor FROM factum.meta WHERE one = 1::int2 FOR UPDATE
