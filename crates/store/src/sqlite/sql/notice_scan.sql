SELECT no, at, tenant, topic, about, version, records, sum FROM notice
