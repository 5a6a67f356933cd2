SELECT id FROM action INDEXED BY action_subject
WHERE tenant = ?1 AND destination = ?2 AND subject = ?3 AND subject IS NOT NULL AND id >= ?4 AND id <> ?5
LIMIT 1
