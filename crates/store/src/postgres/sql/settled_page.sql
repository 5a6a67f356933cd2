-- The next actions in the order of lanes and ids, and whether each is settled. READ COMMITTED, of one moment; locks nothing.
SELECT a.id, s.next_step = 'none'
FROM (
    SELECT lane, id FROM factum.action WHERE (lane, id) > ($1, $2) AND id < $3 ORDER BY lane, id LIMIT $4
) a
JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
ORDER BY a.lane, a.id
