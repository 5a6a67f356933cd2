-- How many more actions each worker may record until it asks again: given out within `limits.unsettled_max`, so that the sum over all
-- workers keeps to it. One version before leaves it at 0, and keeps to the bound by itself.
ALTER TABLE factum.worker
    ADD COLUMN room int8 NOT NULL DEFAULT 0,
    ADD CONSTRAINT worker_room_is_no_debt CHECK (room >= 0);
