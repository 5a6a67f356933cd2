-- READ COMMITTED, of one moment; locks nothing.
SELECT copy_until, at, released_by, released_at FROM factum.restore WHERE one = 1::int2
