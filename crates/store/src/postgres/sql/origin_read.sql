-- READ COMMITTED, of one moment; locks nothing.
SELECT value FROM factum.setting WHERE name = 'origin'
