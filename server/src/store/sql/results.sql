-- The stored results; only settled actions have one.
SELECT r.namespace, r.action_id, r.result
  FROM unnest($1::text[], $2::text[]) AS k (namespace, action_id)
  JOIN results AS r ON r.namespace = k.namespace AND r.action_id = k.action_id
