-- Writes what was judged: fresh rows, changed rows, and the history and results of exactly those.
WITH judged AS (
    SELECT *
      FROM unnest(
           $1::text[], $2::text[], $3::bigint[], $4::timestamptz[],
           $5::text[], $6::text[], $7::bytea[], $8::jsonb[], $9::jsonb[],
           $10::text[], $11::timestamptz[], $12::text[], $13::text[], $14::text[], $15::text[],
           $16::bigint[], $17::bigint[], $18::bigint[],
           $19::bigint[], $20::text[], $21::text[], $22::text[], $23::timestamptz[], $24::timestamptz[],
           $25::timestamptz[], $26::text[], $27::jsonb[],
           $28::timestamptz[], $29::bigint[], $30::jsonb[], $31::text[], $32::uuid[],
           $33::boolean[], $34::boolean[], $35::boolean[], $36::text[], $37::jsonb[], $38::bytea[])
        AS j (
           namespace, action_id, previous, created_at,
           tool, input_scheme, input_digest, labels, specification,
           state, state_since, doubt, stop, closure, reason,
           version, sequence, token,
           lease_token, lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at,
           lease_begun_at, lease_ended, lease_terms,
           approval_expires_at, attempts, undisproved, external_id, effect_id,
           duplicate_suspected, contradicted, ungated, assignee, progress, result)
),
fresh AS (
    INSERT INTO actions (
           namespace, action_id, created_at, tool, input_scheme, input_digest, labels, specification,
           state, state_since, doubt, stop, closure, reason, version, sequence, token,
           lease_token, lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at,
           lease_begun_at, lease_ended, lease_terms,
           approval_expires_at, attempts, undisproved, external_id, effect_id,
           duplicate_suspected, contradicted, ungated, assignee, progress)
    SELECT namespace, action_id, created_at, tool, input_scheme, input_digest, labels, specification,
           state, state_since, doubt, stop, closure, reason, version, sequence, token,
           lease_token, lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at,
           lease_begun_at, lease_ended, lease_terms,
           approval_expires_at, attempts, undisproved, external_id, effect_id,
           duplicate_suspected, contradicted, ungated, assignee, progress
      FROM judged
     WHERE previous IS NULL
    -- Key order beats: two batches of fresh actions in opposite orders wait for each other's inserts.
     ORDER BY namespace COLLATE "C", action_id COLLATE "C"
    -- Beats: two first claims at one instant. The second waits for the first's outcome and then inserts nothing; its
    -- command, judged on an absent action, is judged again.
    ON CONFLICT (namespace, action_id) DO NOTHING
    RETURNING namespace, action_id, created_day
),
changed AS (
    UPDATE actions AS a
       SET state = j.state, state_since = j.state_since, doubt = j.doubt, stop = j.stop, closure = j.closure,
           reason = j.reason, version = j.version, sequence = j.sequence, token = j.token,
           lease_token = j.lease_token, lease_owner = j.lease_owner, lease_principal = j.lease_principal,
           lease_kind = j.lease_kind, lease_granted_at = j.lease_granted_at,
           lease_expires_at = j.lease_expires_at, lease_begun_at = j.lease_begun_at,
           lease_ended = j.lease_ended, lease_terms = j.lease_terms,
           approval_expires_at = j.approval_expires_at, attempts = j.attempts, undisproved = j.undisproved,
           external_id = j.external_id, effect_id = j.effect_id,
           duplicate_suspected = j.duplicate_suspected, contradicted = j.contradicted, ungated = j.ungated,
           assignee = j.assignee, progress = j.progress
      FROM judged AS j
     WHERE a.namespace = j.namespace AND a.action_id = j.action_id
    -- Beats: a write judged on a row that has moved since. The lock alone would do, until a session loses it unseen.
       AND a.version = j.previous
    -- Tokens never fall and what is confirmed stays confirmed, whatever a faulty server judges. Here and not in a
    -- trigger: a CHECK cannot see the old row, and a trigger would cost every renewal.
       AND a.token <= j.token
       AND (a.state <> 'CONFIRMED' OR (j.state = 'CONFIRMED' AND a.effect_id = j.effect_id))
    RETURNING a.namespace, a.action_id, a.created_day
),
written AS (
    SELECT namespace, action_id, created_day FROM fresh
    UNION ALL
    SELECT namespace, action_id, created_day FROM changed
),
history AS (
    INSERT INTO events (
           created_day, namespace, action_id, sequence, at, kind, token, attempt, by_owner, by_principal,
           request_id, fingerprint, granted, begun, state, body, result)
    SELECT w.created_day, e.namespace, e.action_id, e.sequence, e.at, e.kind, e.token, e.attempt,
           e.by_owner, e.by_principal, e.request_id, e.fingerprint, e.granted, e.begun, e.state, e.body, e.result
      FROM unnest(
           $39::text[], $40::text[], $41::bigint[], $42::timestamptz[], $43::text[], $44::bigint[], $45::bigint[],
           $46::text[], $47::text[], $48::uuid[], $49::bytea[], $50::bigint[], $51::boolean[], $52::text[],
           $53::jsonb[], $54::bytea[])
        AS e (
           namespace, action_id, sequence, at, kind, token, attempt,
           by_owner, by_principal, request_id, fingerprint, granted, begun, state,
           body, result)
    -- Beats: history of a grant that lost the race for its row.
      JOIN written AS w ON w.namespace = e.namespace AND w.action_id = e.action_id
),
stored AS (
    INSERT INTO results (namespace, action_id, effect_id, result)
    SELECT j.namespace, j.action_id, j.effect_id, j.result
      FROM judged AS j
      JOIN written AS w ON w.namespace = j.namespace AND w.action_id = j.action_id
     WHERE j.result IS NOT NULL AND j.effect_id IS NOT NULL
    -- The first proof decides, and its result is the one that everybody was told.
    ON CONFLICT (namespace, action_id) DO NOTHING
)
SELECT namespace, action_id FROM written
