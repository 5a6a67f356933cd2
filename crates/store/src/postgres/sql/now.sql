-- READ COMMITTED, of one moment; locks nothing.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8
