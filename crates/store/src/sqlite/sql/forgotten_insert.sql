INSERT INTO forgotten (lane, action, sum) VALUES (?1, ?2, ?3) ON CONFLICT (lane, action) DO NOTHING
