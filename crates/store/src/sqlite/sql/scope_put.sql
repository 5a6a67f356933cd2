INSERT INTO scope (digest, tenant, principal, destination, operation, forgotten_before, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (digest) DO UPDATE SET forgotten_before = excluded.forgotten_before, sum = excluded.sum
