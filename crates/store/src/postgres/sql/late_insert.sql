-- What came after an action was taken away, where it left a tombstone; numbered on. READ COMMITTED. Of two at once one waits, is told
-- that its number is taken, and is asked again.
INSERT INTO factum.late_evidence (lane, action, no, at, kind, fact)
SELECT $1, $2, (SELECT coalesce(max(no), 0) FROM factum.late_evidence WHERE lane = $1 AND action = $2) + f.n, $3::int8, f.kind, f.fact
FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS f (kind, fact, n)
WHERE EXISTS (SELECT FROM factum.tombstone WHERE lane = $1 AND action = $2)
