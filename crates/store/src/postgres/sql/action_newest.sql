-- READ COMMITTED, of one moment; locks nothing.
SELECT id FROM factum.action ORDER BY id DESC LIMIT 1
