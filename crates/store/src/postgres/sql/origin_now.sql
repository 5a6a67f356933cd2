-- The cluster, and the timeline that it writes on. Refused on a standby.
-- READ COMMITTED, of one moment; locks nothing.
SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()
