-- What came after an action was taken away. READ COMMITTED, of one moment; locks nothing.
SELECT no, at, fact FROM factum.late_evidence WHERE lane = $1 AND action = $2 ORDER BY no
