-- The scopes of which actions were taken away. READ COMMITTED, of one moment; locks nothing.
SELECT tenant, principal, destination, operation, forgotten_before FROM factum.scope ORDER BY digest
