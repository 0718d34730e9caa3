-- A page of actions. A filter that is not set is NULL (or an empty array) and falls away when the statement is planned.
-- `{after}` and `{order}` are the two halves of one order; see list.rs.
SELECT a.*, clock_timestamp() AS now
  FROM actions AS a
 WHERE ($1::text IS NULL OR a.namespace = $1)
   AND (cardinality($2::text[]) = 0 OR a.state = ANY ($2))
   AND (cardinality($3::text[]) = 0 OR a.tool = ANY ($3))
   AND ($4::text IS NULL OR (a.lease_owner = $4 AND a.lease_token IS NOT NULL
        AND (a.lease_ended IS NULL OR a.lease_ended = 'LAPSED')))
   AND ($5::jsonb IS NULL OR (a.labels @> $5 AND a.labels <> '[]'))
   AND ($6::text IS NULL OR (a.lease_token IS NOT NULL AND CASE $6
        WHEN 'LIVE' THEN a.lease_ended IS NULL AND a.lease_expires_at > clock_timestamp()
        ELSE a.lease_ended = 'LAPSED' OR (a.lease_ended IS NULL AND a.lease_expires_at <= clock_timestamp()) END))
   AND ($7::timestamptz IS NULL OR (a.state IN ('PLANNED', 'NOT_FOUND') AND a.state_since <= $7
        AND (a.lease_granted_at IS NULL OR a.lease_granted_at <= $7)))
   -- The lower bound lets the primary key find the place; keys compare by bytes.
   AND ($8::text = '' OR (a.action_id >= $8 AND starts_with(a.action_id, $8)))
   AND ($9::text IS NULL OR a.assignee = $9)
   AND (NOT $10::boolean OR ($11 AND a.duplicate_suspected) OR ($12 AND a.contradicted) OR ($13 AND a.ungated))
   AND (NOT $14::boolean OR a.duplicate_suspected OR a.contradicted OR a.ungated
        OR a.state NOT IN ('CONFIRMED', 'REJECTED', 'ABANDONED'))
   -- Apart from $1: one namespace by equality keeps the order of its index, and most lists name one.
   AND ($19::text[] IS NULL OR a.namespace = ANY ($19))
   AND ($15::timestamptz IS NULL OR {after})
 ORDER BY {order}
 LIMIT $18
