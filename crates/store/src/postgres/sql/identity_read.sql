-- The action that an identity names, recorded or reserved by an application's own transaction.
-- READ COMMITTED, of one moment; locks nothing.
SELECT action FROM factum.identity WHERE lane = $1 AND digest = $2
