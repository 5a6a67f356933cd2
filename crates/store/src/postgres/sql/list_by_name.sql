-- READ COMMITTED, of one moment; locks nothing.
SELECT a.lane, a.id
FROM factum.action a JOIN factum.standing s ON s.lane = a.lane AND s.id = a.id
WHERE a.name = $4 AND a.id < $2
  AND ($3::text IS NULL OR a.tenant = $3)
  AND ($4::text IS NULL OR a.name = $4)
  AND ($5::text IS NULL OR s.state = $5)
  AND ($6::text IS NULL OR s.next_step = $6)
  AND ($7::text IS NULL OR s.destination = $7)
  AND ($8::text IS NULL OR a.conversation = $8)
ORDER BY a.id DESC LIMIT $1
