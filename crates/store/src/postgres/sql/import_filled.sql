-- In the transaction of an import, READ COMMITTED; what it writes into is locked by import_lock.sql.
-- What must not be there where an export is to be put; and whether a worker lives at $1.
SELECT EXISTS (SELECT FROM factum.action) OR EXISTS (SELECT FROM factum.outbox), EXISTS (SELECT FROM factum.report),
    EXISTS (SELECT FROM factum.entry), EXISTS (SELECT FROM factum.worker WHERE until > $1)
