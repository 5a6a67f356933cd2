-- READ COMMITTED; locks the row of `report`.
UPDATE factum.report SET action = $3 WHERE lane = $1 AND id = $2
