SELECT id FROM action WHERE identity = ?1
