-- What time has decided and nobody has written down: leases that have lapsed, and requests for approval that have
-- expired. Only keys: the core judges each again under its lock; beats: a sweeper paused between reading and writing.
--
-- The first half reads the index of leases that nobody has ended, so it costs what is open, not what is stored.
(SELECT a.namespace, a.action_id
   FROM actions AS a
  WHERE a.lease_token IS NOT NULL AND a.lease_ended IS NULL AND a.lease_expires_at <= clock_timestamp()
  LIMIT $1)
UNION ALL
(SELECT a.namespace, a.action_id
   FROM actions AS a
  WHERE a.state = 'AWAITING_APPROVAL' AND a.approval_expires_at <= clock_timestamp()
  LIMIT $1)
LIMIT $1
