-- READ COMMITTED, of one moment; locks nothing.
SELECT no, at, kind, fact, chain FROM factum.evidence WHERE lane = $1 AND action = $2 ORDER BY no
