SELECT lane, id, identity, fingerprint, contract, tenant, name, conversation, params, payload, head, seal, sum, subject, destination
FROM action WHERE lane = ?1 AND id = ?2
