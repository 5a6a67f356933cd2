INSERT INTO action (lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head, sum, subject, destination)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT (identity) DO NOTHING
