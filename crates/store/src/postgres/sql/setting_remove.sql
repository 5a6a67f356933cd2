-- READ COMMITTED; locks the row of `setting`.
DELETE FROM factum.setting WHERE name = $1
