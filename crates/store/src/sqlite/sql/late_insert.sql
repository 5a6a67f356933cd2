INSERT INTO late_evidence (lane, action, no, at, kind, fact, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
