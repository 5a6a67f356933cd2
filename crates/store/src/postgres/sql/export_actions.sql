-- In a transaction of its own at REPEATABLE READ, since READ COMMITTED would mix moments; locks nothing.
-- Every action with its log and its names, in the order of their ids, of the transaction's one moment.
SELECT a.id, a.identity, a.fingerprint, a.contract, a.params, a.payload, a.head,
    s.version, s.records, s.state, s.next_step, s.next_at, s.next_why, s.chain, e.nos, e.ats, e.facts, k.names
FROM factum.action a
JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
CROSS JOIN LATERAL (
    SELECT array_agg(no ORDER BY no) AS nos, array_agg(at ORDER BY no) AS ats, array_agg(fact ORDER BY no) AS facts
    FROM factum.evidence WHERE lane = a.lane AND action = a.id
) e
LEFT JOIN (
    SELECT action_lane, action, array_agg(name ORDER BY name) AS names FROM factum.known_by GROUP BY action_lane, action
) k ON k.action_lane = a.lane AND k.action = a.id
ORDER BY a.id
