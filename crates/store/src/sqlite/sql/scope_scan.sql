SELECT digest, tenant, principal, destination, operation, forgotten_before, sum FROM scope ORDER BY digest
