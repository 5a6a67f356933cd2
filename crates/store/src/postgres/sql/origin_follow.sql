-- The store goes on elsewhere, with nothing lost. READ COMMITTED; the row is locked: one of several workers makes the change.
UPDATE factum.setting SET value = $2 WHERE name = 'origin' AND value = $1
