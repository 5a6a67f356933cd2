SELECT text FROM factum.contract WHERE digest = $1
