-- One action with its stored result.
SELECT a.*, r.result, clock_timestamp() AS now
  FROM actions AS a
  LEFT JOIN results AS r ON r.namespace = a.namespace AND r.action_id = a.action_id
 WHERE a.namespace = $1 AND a.action_id = $2
