INSERT INTO report_name (name, report) VALUES (?1, ?2) ON CONFLICT (name, report) DO NOTHING
