-- Whether an action is known to be forgotten. READ COMMITTED, of one moment; locks nothing.
SELECT lane, action FROM factum.forgotten WHERE lane = $1 AND action = $2
