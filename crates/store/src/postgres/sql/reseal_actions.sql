-- READ COMMITTED, of one moment; locks nothing.
SELECT id FROM factum.action WHERE id > $1 ORDER BY id LIMIT $2
