SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry WHERE kind = ?1 AND tenant = ?2 AND id = ?3 AND lane = ?4
