-- Which action an external id proves.
SELECT namespace, action_id FROM external_ids WHERE namespace = $1 AND tool = $2 AND external_id = $3
