SELECT kind, tenant, id, lane, version, body, label, due, at, who, why, sum FROM entry
