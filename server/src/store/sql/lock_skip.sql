-- Locks the rows that exist and that nobody holds, in key order.
-- SKIP LOCKED beats: one stuck row holds up the whole batch, and the lane behind it.
SELECT a.*
  FROM unnest($1::text[], $2::text[]) AS k (namespace, action_id)
  JOIN actions AS a ON a.namespace = k.namespace AND a.action_id = k.action_id
 ORDER BY a.namespace, a.action_id
   FOR UPDATE OF a SKIP LOCKED
