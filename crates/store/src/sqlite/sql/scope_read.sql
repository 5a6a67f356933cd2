SELECT digest, tenant, principal, destination, operation, forgotten_before, sum FROM scope WHERE digest = ?1
