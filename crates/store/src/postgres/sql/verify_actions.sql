-- The next actions in the order of their ids, each with its log and how it stands. READ COMMITTED, each page of one moment; locks nothing.
SELECT a.id, a.identity, a.fingerprint, a.contract, a.params, a.payload, a.head,
    s.version, s.records, s.state, s.next_step, s.next_at, s.next_why, s.chain,
    e.nos, e.ats, e.kinds, e.facts, e.links, e.others
FROM (
    SELECT * FROM factum.action WHERE id > $1 ORDER BY id LIMIT $2
) a
LEFT JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
CROSS JOIN LATERAL (
    SELECT array_agg(no ORDER BY no) AS nos, array_agg(at ORDER BY no) AS ats, array_agg(kind ORDER BY no) AS kinds,
        array_agg(fact ORDER BY no) AS facts, array_agg(chain ORDER BY no) AS links, count(seal) AS others
    FROM factum.evidence WHERE lane = a.lane AND action = a.id
) e
ORDER BY a.id
