-- What the living were given, those of now. READ COMMITTED; locks these rows of `worker`, in their order, until the end of its
-- transaction: whoever asks next sees what this one was given.
SELECT nonce, room FROM factum.worker WHERE until > $1 AND nonce <> 0 ORDER BY nonce FOR UPDATE
