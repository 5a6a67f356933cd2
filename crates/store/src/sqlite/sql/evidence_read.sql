SELECT lane, action, no, at, kind, fact, seal, chain, sum FROM evidence WHERE lane = ?1 AND action = ?2 ORDER BY no
