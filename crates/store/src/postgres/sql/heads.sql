-- The next actions in the order of their ids, and how far the evidence of each goes. READ COMMITTED, of one moment; locks nothing.
SELECT a.id, s.records, s.chain
FROM factum.action a JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
WHERE a.id > $1
ORDER BY a.id LIMIT $2
