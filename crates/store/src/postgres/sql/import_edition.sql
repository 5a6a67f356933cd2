-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
UPDATE factum.edition SET number = $1 WHERE one = 1::int2
