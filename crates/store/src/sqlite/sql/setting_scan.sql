SELECT name, value, sum, rowid FROM setting
