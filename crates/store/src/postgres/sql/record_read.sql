-- One action with everything that is known about it, of one moment: one statement, one snapshot.
-- READ COMMITTED, of one moment; locks nothing.
SELECT a.id, a.identity, a.fingerprint, a.contract, a.params, a.payload, a.head,
    s.version, s.records, s.state, s.next_step, s.next_at, s.next_why, s.chain, e.nos, e.ats, e.facts
FROM factum.action a
JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
CROSS JOIN LATERAL (
    SELECT array_agg(no ORDER BY no) AS nos, array_agg(at ORDER BY no) AS ats, array_agg(fact ORDER BY no) AS facts
    FROM factum.evidence WHERE lane = $1 AND action = a.id
) e
WHERE a.lane = $1 AND a.id = $2 AND s.lane = $1
