-- In the transaction of an export, at REPEATABLE READ (READ COMMITTED would mix moments); its locks are held to the end.
-- What stands in the way of moving the store: workers that live at $1, and rows that no worker has taken over.
SELECT (SELECT count(*) FROM factum.worker WHERE until > $1), (SELECT count(*) FROM factum.outbox WHERE state = 'waiting')
