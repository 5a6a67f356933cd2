-- First in the transaction of an import, READ COMMITTED: the locks are held to its end.
-- Nobody begins to work on the store before the transaction ends.
LOCK TABLE factum.worker, factum.action IN SHARE ROW EXCLUSIVE MODE
