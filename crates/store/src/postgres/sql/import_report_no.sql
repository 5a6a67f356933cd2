-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
SELECT setval('factum.report_no', greatest($1::int8, 1), $1::int8 > 0)
