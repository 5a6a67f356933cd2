SELECT lane, digest, actions, sum FROM twin ORDER BY lane, digest
