-- READ COMMITTED, of one moment; locks nothing.
SELECT action, no, fact FROM factum.late_evidence ORDER BY lane, action, no
