-- One action's history after a place in it, oldest first. When it was created is looked up first: scalars, so that the
-- executor opens that day's partition and no other.
SELECT e.*
  FROM events AS e
 WHERE e.created_day = (SELECT a.created_day FROM actions AS a WHERE a.namespace = $1 AND a.action_id = $2)
   AND e.created_at = (SELECT a.created_at FROM actions AS a WHERE a.namespace = $1 AND a.action_id = $2)
   AND e.namespace = $1 AND e.action_id = $2 AND e.sequence > $3
 ORDER BY e.sequence
 LIMIT $4
