-- The store's own name, and how many actions retention has taken away. READ COMMITTED, of one moment; locks nothing.
SELECT m.store, (SELECT count(*) FROM factum.tombstone) + (SELECT count(*) FROM factum.forgotten) FROM factum.meta m WHERE m.one = 1::int2
