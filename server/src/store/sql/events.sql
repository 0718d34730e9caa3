-- One action's history after a place in it, oldest first. The day is looked up first: a scalar, so that the executor
-- opens that day's partition and no other.
SELECT e.*
  FROM events AS e
 WHERE e.created_day = (SELECT a.created_day FROM actions AS a WHERE a.namespace = $1 AND a.action_id = $2)
   AND e.namespace = $1 AND e.action_id = $2 AND e.sequence > $3
 ORDER BY e.sequence
 LIMIT $4
