-- Which rows exist at all. What exists and was not locked is held by somebody else; beats: a busy action taken for an
-- absent one. A row committed since the locks counts as busy, and its command is judged apart.
SELECT a.namespace, a.action_id
  FROM unnest($1::text[], $2::text[]) AS k (namespace, action_id)
  JOIN actions AS a ON a.namespace = k.namespace AND a.action_id = k.action_id
