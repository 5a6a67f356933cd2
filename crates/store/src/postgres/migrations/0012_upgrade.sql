-- Upgrades with workers running. The store takes programs that know schema `floor` or a later one, and rows are written in a form that
-- all of those read. A program that brings more leaves `floor` where it was, until nobody of before has worked on the store for a while.
ALTER TABLE factum.meta
    ADD COLUMN floor int8 NOT NULL DEFAULT 12,
    ADD CONSTRAINT meta_floor_is_a_schema CHECK (floor >= 1);
ALTER TABLE factum.meta ALTER COLUMN floor DROP DEFAULT;

-- The newest schema that a worker knows. One of before does not say.
ALTER TABLE factum.worker ADD COLUMN program int8 NOT NULL DEFAULT 11;
