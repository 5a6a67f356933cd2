-- READ COMMITTED; locks the row of `late_evidence`.
UPDATE factum.late_evidence SET fact = $4 WHERE lane = $1 AND action = $2 AND no = $3
