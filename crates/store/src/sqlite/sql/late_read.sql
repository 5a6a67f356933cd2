SELECT lane, action, no, at, kind, fact, seal, sum FROM late_evidence WHERE lane = ?1 AND action = ?2 ORDER BY no
