-- READ COMMITTED, of one moment; locks nothing.
SELECT action FROM factum.known_by WHERE lane = $1 AND name = $2 LIMIT 2
