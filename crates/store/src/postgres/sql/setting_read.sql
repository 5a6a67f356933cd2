SELECT value FROM factum.setting WHERE name = $1
