-- Held by nobody, or by a worker that has stopped saying that it lives. READ COMMITTED, of one moment; locks nothing.
SELECT s.next_at, s.id, s.destination FROM factum.standing s
WHERE s.lane = ANY ($1) AND s.next_at < $2
  AND (s.claim_until IS NULL OR s.claim_until <= $3
    OR EXISTS (SELECT 1 FROM factum.worker w WHERE w.nonce = s.claim_by AND w.until <= $3))
  AND (s.next_at, s.id) > ($5, $6)
ORDER BY s.next_at, s.id LIMIT $4
