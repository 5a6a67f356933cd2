SELECT digest FROM contract ORDER BY digest
