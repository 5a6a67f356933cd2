INSERT INTO evidence (lane, action, no, at, kind, fact, sum, chain) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
