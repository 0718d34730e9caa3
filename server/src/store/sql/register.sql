-- Registers external ids, each for the action that it proves from now on.
--
-- A statement of its own, after the rows: whoever waits here holds no row that the other side still wants. In key order;
-- beats: two transactions register two ids in opposite orders and wait for each other.
-- No ON CONFLICT: of two actions that name one effect the second must fail, and be judged again with the first in sight.
INSERT INTO external_ids (namespace, tool, external_id, action_id)
SELECT r.namespace, r.tool, r.external_id, r.action_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r (namespace, tool, external_id, action_id)
  JOIN actions AS a ON a.namespace = r.namespace AND a.action_id = r.action_id
-- Only of rows that this very transaction wrote; beats: a report that lost the race to create its action.
 WHERE a.xmin = pg_current_xact_id()::xid
 ORDER BY r.namespace COLLATE "C", r.tool COLLATE "C", r.external_id COLLATE "C"
