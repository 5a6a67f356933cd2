-- How many workers know no later schema than one before $1, and lived at $2 or later.
-- READ COMMITTED, of one moment; locks nothing.
SELECT count(*) FROM factum.worker WHERE program < $1 AND until > $2
