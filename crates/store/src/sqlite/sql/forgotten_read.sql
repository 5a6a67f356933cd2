SELECT lane, action, sum FROM forgotten WHERE lane = ?1 AND action = ?2
