INSERT INTO meta (one, store, incarnation, key_check, commits, stamp) VALUES (1, ?1, ?2, ?3, 0, ?4)
