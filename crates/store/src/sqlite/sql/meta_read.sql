SELECT store, incarnation, key_check, commits, stamp FROM meta WHERE one = 1
