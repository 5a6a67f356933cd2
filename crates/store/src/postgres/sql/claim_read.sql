-- READ COMMITTED, of one moment; locks nothing.
SELECT claim_until FROM factum.standing WHERE lane = $1 AND id = $2
