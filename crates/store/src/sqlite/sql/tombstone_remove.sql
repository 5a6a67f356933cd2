DELETE FROM tombstone WHERE lane = ?1 AND identity = ?2
