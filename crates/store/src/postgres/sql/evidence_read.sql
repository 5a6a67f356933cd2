SELECT no, at, fact FROM factum.evidence WHERE lane = $1 AND action = $2 ORDER BY no
