SELECT copy_until, at, released_by, released_at, sum, one FROM restore WHERE one = 1
