SELECT lane, digest, actions, sum FROM twin WHERE lane = ?1 AND digest = ?2
