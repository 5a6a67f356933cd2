INSERT INTO twin (lane, digest, actions, sum) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (lane, digest) DO UPDATE SET actions = excluded.actions, sum = excluded.sum
