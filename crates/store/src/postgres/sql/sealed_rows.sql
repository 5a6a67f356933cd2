-- READ COMMITTED, of one moment; locks nothing.
SELECT (SELECT count(*) FROM factum.action WHERE (head LIKE $1) = $2)
    + (SELECT count(*) FROM factum.evidence WHERE (fact LIKE $1) = $2)
    + (SELECT count(*) FROM factum.late_evidence WHERE (fact LIKE $1) = $2)
    + (SELECT count(*) FROM factum.entry WHERE (body LIKE $1) = $2)
    + (SELECT count(*) FROM factum.entry_version WHERE (body LIKE $1) = $2)
    + (SELECT count(*) FROM factum.report WHERE (readings LIKE $1) = $2)
