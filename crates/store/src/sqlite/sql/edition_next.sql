UPDATE edition SET number = number + 1 WHERE one = 1
