-- In the transaction of an export, at REPEATABLE READ (READ COMMITTED would mix moments); its locks are held to the end.
-- Nobody begins to work on the store, and no application submits, until the transaction ends; what they were just doing is over.
LOCK TABLE factum.worker, factum.outbox IN SHARE ROW EXCLUSIVE MODE
