-- READ COMMITTED; locks the row of `report`.
UPDATE factum.report SET readings = $3, body = $4 WHERE lane = $1 AND id = $2
