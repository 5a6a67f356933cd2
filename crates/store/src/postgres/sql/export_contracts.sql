-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
SELECT digest, text FROM factum.contract ORDER BY digest
