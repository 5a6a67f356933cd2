SELECT name, value, sum FROM setting WHERE name = ?1
