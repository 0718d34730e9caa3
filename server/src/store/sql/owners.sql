-- Which actions the external ids prove, each within its namespace and tool. For an action that does not exist yet, the
-- tool is the one that the call's own specification names.
SELECT c.nth, x.namespace, x.action_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY
       AS c (namespace, action_id, tool, external_id, nth)
  LEFT JOIN actions AS a ON a.namespace = c.namespace AND a.action_id = c.action_id
  JOIN external_ids AS x
    ON x.namespace = c.namespace AND x.tool = coalesce(a.tool, c.tool) AND x.external_id = c.external_id
