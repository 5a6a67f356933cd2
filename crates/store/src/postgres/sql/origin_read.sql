SELECT value FROM factum.setting WHERE name = 'origin'
