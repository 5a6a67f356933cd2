SELECT kind, tenant, id, version, body, at, who, why, sum FROM entry_version
