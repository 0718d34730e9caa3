-- Locks the rows that exist, waiting for each as long as `lock_timeout` says.
-- Key order beats: two servers lock the same two rows in opposite orders and wait for each other.
SELECT a.*
  FROM unnest($1::text[], $2::text[]) AS k (namespace, action_id)
  JOIN actions AS a ON a.namespace = k.namespace AND a.action_id = k.action_id
 ORDER BY a.namespace, a.action_id
   FOR UPDATE OF a
