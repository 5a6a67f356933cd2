INSERT INTO known_by (name, lane, action, sum) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name, lane, action) DO NOTHING
