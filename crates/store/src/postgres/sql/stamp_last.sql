SELECT max(at) FROM factum.evidence
