-- In the transaction of an export, at REPEATABLE READ (READ COMMITTED would mix moments); its locks are held to the end.
-- A worker that stood still meanwhile writes no mark any more, and so sends nothing.
ALTER TABLE factum.standing ADD CONSTRAINT standing_is_not_moved CHECK (false) NOT VALID
