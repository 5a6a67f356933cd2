-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
SELECT name, value FROM factum.setting ORDER BY name COLLATE "C"
