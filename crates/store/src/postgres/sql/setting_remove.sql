DELETE FROM factum.setting WHERE name = $1
