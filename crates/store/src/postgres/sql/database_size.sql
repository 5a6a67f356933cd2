-- READ COMMITTED, of one moment; locks nothing.
SELECT pg_database_size(current_database())
