-- Waits for whoever is writing the row: what is read afterwards is decided.
-- READ COMMITTED; locks the row of `standing`.
SELECT version FROM factum.standing WHERE lane = $1 AND id = $2 FOR UPDATE
