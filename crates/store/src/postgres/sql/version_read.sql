-- The schema's version. READ COMMITTED, of one moment; locks nothing.
SELECT coalesce(max(version), 0)::int8 FROM factum.version
