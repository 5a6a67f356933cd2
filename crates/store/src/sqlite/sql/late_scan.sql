SELECT lane, action, no, at, kind, fact, seal, sum FROM late_evidence ORDER BY lane, action, no
