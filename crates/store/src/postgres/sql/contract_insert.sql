INSERT INTO factum.contract (digest, text) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING
