UPDATE edition SET number = ?1 WHERE one = 1
