-- READ COMMITTED, of one moment; locks nothing.
SELECT max(at) FROM factum.evidence
