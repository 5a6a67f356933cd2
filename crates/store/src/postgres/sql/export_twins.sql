-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
SELECT digest, actions FROM factum.twin ORDER BY lane, digest
