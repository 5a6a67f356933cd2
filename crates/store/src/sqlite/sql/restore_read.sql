SELECT copy_until, at, released_by, released_at FROM restore WHERE one = 1
