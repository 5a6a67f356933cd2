SELECT no, at, tenant, topic, about, version, records, sum FROM notice WHERE no > ?1 AND no <= ?2 ORDER BY no
