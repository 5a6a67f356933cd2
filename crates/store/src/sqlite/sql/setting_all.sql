SELECT name FROM setting ORDER BY name
