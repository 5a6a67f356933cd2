INSERT INTO factum.setting (name, value) VALUES ('origin', $1) ON CONFLICT (name) DO NOTHING
