INSERT INTO contract (digest, text, sum) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING
