-- The actions of one content that may hold another one off, and the row's version.
-- READ COMMITTED, of one moment; locks nothing.
SELECT version, actions FROM factum.twin WHERE lane = $1 AND digest = $2
