-- READ COMMITTED, of one moment; locks nothing.
SELECT current_setting($1, true)
