-- What waits for a worker of an application's own: found by destination, soonest first. The words are the store's
-- `FOR_WORKERS`; a test compares them.
CREATE INDEX standing_for_workers ON standing (destination, next_at, id)
    WHERE next_why = 'a worker carries it out in its own code' AND next_at IS NOT NULL;
