-- The statements of a transaction, as functions.
--
-- A function keeps its plans for the life of a session, behind a transaction pooler too, where a prepared statement would
-- be somebody else's. So a transaction parses a handful of short calls, and plans nothing.
--
-- A kept plan was made on tables as they were: empty, perhaps, and never analysed. So none of these plans may depend on
-- statistics. Each looks up one key at a time: a LATERAL with a LIMIT of 1 cannot be turned into a join, and what else
-- a planner could prefer on an empty table is switched off. `jit`: switched-off methods count as dearest, and what is dear
-- gets compiled, for milliseconds.
--
-- Rows come as one array for each column and are taken apart by subscript: PL/pgSQL keeps an array taken apart, while
-- `unnest` of fifty arrays would fill fifty tuplestores.

-- Locks the rows that exist and that nobody holds, in the order of the keys as given: their own, on every server. Beats:
-- two servers lock the same two rows in opposite orders and wait for each other.
-- SKIP LOCKED beats: one stuck row holds up the whole batch, and the lane behind it.
--
-- Answers with the locked rows; if there are fewer than keys, with the rows that exist, without a place: what exists and
-- was not locked is held by somebody else; beats: a busy action taken for an absent one (a row committed since the locks
-- counts as busy, and its command is judged apart); and last with the time, in a row of its own.
--
-- The time is read after the locks are held; beats the frozen clock, where a time read before a wait for a lock makes
-- a lease that has lapsed meanwhile look live.
CREATE FUNCTION deed_lock_free(namespaces text[], action_ids text[])
RETURNS TABLE (now timestamptz, place tid, action actions)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    locked integer;
BEGIN
    RETURN QUERY
        SELECT NULL::timestamptz, found.place, found.action
          FROM generate_series(1, cardinality(namespaces)) AS n
         CROSS JOIN LATERAL (
               SELECT a.ctid AS place, a AS action
                 FROM actions AS a
                WHERE a.namespace = namespaces[n] AND a.action_id = action_ids[n]
                LIMIT 1
                  FOR UPDATE OF a SKIP LOCKED) AS found;
    GET DIAGNOSTICS locked = ROW_COUNT;
    IF locked < cardinality(namespaces) THEN
        RETURN QUERY
            SELECT NULL::timestamptz, NULL::tid, found.action
              FROM generate_series(1, cardinality(namespaces)) AS n
             CROSS JOIN LATERAL (
                   SELECT a AS action
                     FROM actions AS a
                    WHERE a.namespace = namespaces[n] AND a.action_id = action_ids[n]
                    LIMIT 1) AS found;
    END IF;
    now := clock_timestamp();
    RETURN NEXT;
END
$$;

-- The same, waiting for each row as long as `lock_timeout` says.
CREATE FUNCTION deed_lock(namespaces text[], action_ids text[])
RETURNS TABLE (now timestamptz, place tid, action actions)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT NULL::timestamptz, found.place, found.action
          FROM generate_series(1, cardinality(namespaces)) AS n
         CROSS JOIN LATERAL (
               SELECT a.ctid AS place, a AS action
                 FROM actions AS a
                WHERE a.namespace = namespaces[n] AND a.action_id = action_ids[n]
                LIMIT 1
                  FOR UPDATE OF a) AS found;
    now := clock_timestamp();
    RETURN NEXT;
END
$$;

-- What history remembers of each call: the events of its request id and of its token. `nth` counts the calls from 1. A
-- statement of its own, in a snapshot taken after the locks are held; beats: a repeat that waited for the first call's lock
-- does not see what the first call did.
--
-- Planned once for each day that occurs, with the day as a constant: so only that day's partition is opened, and locked,
-- however many there are.
CREATE FUNCTION deed_remembered(
    created timestamptz[], namespaces text[], action_ids text[], requests uuid[], tokens bigint[])
RETURNS TABLE (
    nth bigint, of_request boolean, of_token boolean, sequence bigint, at timestamptz, kind text, attempt bigint,
    by_owner text, by_principal text, fingerprint bytea, granted bigint, begun boolean,
    lease_kind text, lease_expires_at bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    day date;
BEGIN
    FOR day IN
        SELECT DISTINCT (t.created_at AT TIME ZONE 'UTC')::date FROM unnest(created) AS t (created_at)
    LOOP
        RETURN QUERY EXECUTE format($history$
            SELECT c.nth, coalesce(e.request_id = c.request, false), coalesce(e.token = c.token, false),
                   e.sequence, e.at, e.kind, e.attempt,
                   e.by_owner, e.by_principal, e.fingerprint, e.granted, e.begun,
                   e.body ->> 'grant', (e.body ->> 'expires_at')::bigint
              FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY
                   AS c (created_at, namespace, action_id, request, token, nth)
             CROSS JOIN LATERAL (
                   SELECT *
                     FROM events AS s
                    WHERE s.created_day = %L AND s.created_at = c.created_at
                      AND s.namespace = c.namespace AND s.action_id = c.action_id
                      AND (s.request_id = c.request OR s.token = c.token)
                   -- Keeps it a look-up for each call, like a LIMIT.
                   OFFSET 0) AS e
            $history$, day)
            USING created, namespaces, action_ids, requests, tokens;
    END LOOP;
END
$$;

-- The stored results of settled actions. In a snapshot of its own, after the locks are held.
CREATE FUNCTION deed_results(namespaces text[], action_ids text[])
RETURNS TABLE (namespace text, action_id text, result bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT found.namespace, found.action_id, found.result
          FROM generate_series(1, cardinality(namespaces)) AS n
         CROSS JOIN LATERAL (
               SELECT s.namespace, s.action_id, s.result
                 FROM results AS s
                WHERE s.namespace = namespaces[n] AND s.action_id = action_ids[n]
                LIMIT 1) AS found;
END
$$;

-- Which actions the external ids prove, each within its namespace and tool. For an action that does not exist yet, the
-- tool is the one that the call's own specification names.
CREATE FUNCTION deed_proven(namespaces text[], action_ids text[], tools text[], external_ids text[])
RETURNS TABLE (nth bigint, namespace text, action_id text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT n::bigint, x.namespace, x.action_id
          FROM generate_series(1, cardinality(namespaces)) AS n
          LEFT JOIN LATERAL (
               SELECT s.tool
                 FROM actions AS s
                WHERE s.namespace = namespaces[n] AND s.action_id = action_ids[n]
                LIMIT 1) AS a ON true
         CROSS JOIN LATERAL (
               SELECT s.namespace, s.action_id
                 FROM external_ids AS s
                WHERE s.namespace = namespaces[n] AND s.tool = coalesce(a.tool, tools[n])
                  AND s.external_id = external_ids[n]
                LIMIT 1) AS x;
END
$$;

-- Appends the history of those rows of a statement that were written. `row` names the row, counted from 1. The arrays:
--   row, created_at, namespace, action_id, sequence, at, kind, token, attempt, by_owner, by_principal, request_id,
--   fingerprint, granted, begun, state, body, result.
CREATE FUNCTION deed_append(
    written boolean[],
    integer[], timestamptz[], text[], text[], bigint[], timestamptz[], text[], bigint[], bigint[], text[], text[],
    uuid[], bytea[], bigint[], boolean[], text[], json[], bytea[])
RETURNS void LANGUAGE plpgsql SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO events (
           created_day,
           created_at, namespace, action_id, sequence, at, kind, token, attempt, by_owner, by_principal,
           request_id, fingerprint, granted, begun, state, body, result)
    SELECT ($3[n] AT TIME ZONE 'UTC')::date,
           $3[n], $4[n], $5[n], $6[n], $7[n], $8[n], $9[n], $10[n], $11[n], $12[n], $13[n], $14[n], $15[n], $16[n],
           $17[n], $18[n], $19[n]
      FROM generate_series(1, cardinality($2)) AS n
    -- Beats: history of a grant that lost the race for its row.
     WHERE written[$2[n]];
END
$$;

-- Inserts fresh rows and their history; says which. The arrays:
--   namespace, action_id, created_at, tool, input_scheme, input_digest, labels, specification, state, state_since,
--   doubt, stop, closure, reason, version, sequence, token, lease_token, lease_owner, lease_principal, lease_kind,
--   lease_granted_at, lease_expires_at, lease_begun_at, lease_ended, lease_terms, approval_expires_at, attempts,
--   undisproved, external_id, effect_id, duplicate_suspected, contradicted, ungated, assignee, progress,
--   the request id of the history, then those of the history.
CREATE FUNCTION deed_insert(
    text[], text[], timestamptz[], text[], text[], bytea[], jsonb[], json[], text[], timestamptz[], text[], text[],
    text[], text[], bigint[], bigint[], bigint[], bigint[], text[], text[], text[], timestamptz[], timestamptz[],
    timestamptz[], text[], json[], timestamptz[], bigint[], json[], text[], uuid[], boolean[], boolean[],
    boolean[], text[], json[], uuid[], integer[], timestamptz[], text[], text[], bigint[], timestamptz[], text[],
    bigint[], bigint[], text[], text[], uuid[], bytea[], bigint[], boolean[], text[], json[], bytea[])
RETURNS boolean[] LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    wanted  integer := cardinality($1);
    made    integer;
    written boolean[];
BEGIN
    -- In the order of the keys as given, their own; beats: two batches of fresh actions in opposite orders wait for each
    -- other's inserts.
    INSERT INTO actions (
           namespace, action_id, created_at, tool, input_scheme, input_digest, labels, specification, state,
           state_since, doubt, stop, closure, reason, version, sequence, token, lease_token, lease_owner,
           lease_principal, lease_kind, lease_granted_at, lease_expires_at, lease_begun_at, lease_ended,
           lease_terms, approval_expires_at, attempts, undisproved, external_id, effect_id, duplicate_suspected,
           contradicted, ungated, assignee, progress, requests)
    SELECT $1[n], $2[n], $3[n], $4[n], $5[n], $6[n], $7[n], $8[n], $9[n], $10[n], $11[n], $12[n], $13[n], $14[n],
           $15[n], $16[n], $17[n], $18[n], $19[n], $20[n], $21[n], $22[n], $23[n], $24[n], $25[n], $26[n], $27[n],
           $28[n], $29[n], $30[n], $31[n], $32[n], $33[n], $34[n], $35[n], $36[n],
           array_remove(ARRAY[$37[n]], NULL)
      FROM generate_series(1, wanted) AS n
    -- Beats: two first claims at one instant. The second waits for the first's outcome and then inserts nothing; its
    -- command, judged on an absent action, is judged again.
    ON CONFLICT (namespace, action_id) DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made = wanted THEN
        written := array_fill(true, ARRAY[wanted]);
    ELSE
        SELECT array_agg(a.own IS NOT NULL ORDER BY n)
          INTO written
          FROM generate_series(1, wanted) AS n
          LEFT JOIN LATERAL (
               SELECT true AS own
                 FROM actions AS s
                WHERE s.namespace = $1[n] AND s.action_id = $2[n]
                  AND s.xmin = pg_current_xact_id()::xid
                LIMIT 1) AS a ON true;
    END IF;
    PERFORM deed_append(
        written,
        $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55);
    RETURN written;
END
$$;

-- Writes changed rows, each at the place where it was locked, and their history; says which. The arrays:
--   place, namespace, action_id, previous, state, state_since, doubt, stop, closure, reason, version, sequence,
--   token, lease_token, lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at,
--   lease_begun_at, lease_ended, lease_terms, approval_expires_at, attempts, undisproved, external_id, effect_id,
--   duplicate_suspected, contradicted, ungated, assignee, progress, the request id of the history,
--   then those of the history.
CREATE FUNCTION deed_update(
    tid[], text[], text[], bigint[], text[], timestamptz[], text[], text[], text[], text[], bigint[], bigint[],
    bigint[], bigint[], text[], text[], text[], timestamptz[], timestamptz[], timestamptz[], text[], json[],
    timestamptz[], bigint[], json[], text[], uuid[], boolean[], boolean[], boolean[], text[], json[], uuid[],
    integer[], timestamptz[], text[], text[], bigint[], timestamptz[], text[], bigint[], bigint[], text[], text[],
    uuid[], bytea[], bigint[], boolean[], text[], json[], bytea[])
RETURNS boolean[] LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan
-- Only the way by the row's place is left.
SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    wanted  integer := cardinality($1);
    changed integer[];
    nth     integer;
    written boolean[];
BEGIN
    WITH moved AS (
        UPDATE actions AS a
           SET state = $5[n], state_since = $6[n], doubt = $7[n], stop = $8[n], closure = $9[n], reason = $10[n],
               version = $11[n], sequence = $12[n], token = $13[n], lease_token = $14[n], lease_owner = $15[n],
               lease_principal = $16[n], lease_kind = $17[n], lease_granted_at = $18[n], lease_expires_at = $19[n],
               lease_begun_at = $20[n], lease_ended = $21[n], lease_terms = $22[n], approval_expires_at = $23[n],
               attempts = $24[n], undisproved = $25[n], external_id = $26[n], effect_id = $27[n],
               duplicate_suspected = $28[n], contradicted = $29[n], ungated = $30[n], assignee = $31[n],
               progress = $32[n],
               -- Full, the list becomes null, and stays it.
               requests = CASE
                   WHEN $33[n] IS NULL THEN a.requests
                   WHEN cardinality(a.requests) < 8 THEN a.requests || $33[n]
               END
          FROM generate_series(1, wanted) AS n
         WHERE a.ctid = $1[n] AND a.namespace = $2[n] AND a.action_id = $3[n]
        -- Beats: a write judged on a row that has moved since. The lock alone would do, until a session loses it unseen.
           AND a.version = $4[n]
        -- Tokens never fall and what is confirmed stays confirmed, whatever a faulty server judges. Here and not in a
        -- trigger: a CHECK cannot see the old row, and a trigger would cost every renewal.
           AND a.token <= $13[n]
           AND (a.state <> 'CONFIRMED'
                OR ($5[n] = 'CONFIRMED' AND a.effect_id = $27[n]))
        RETURNING n
    )
    SELECT array_agg(m.n) INTO changed FROM moved AS m;
    written := array_fill(coalesce(cardinality(changed), 0) = wanted, ARRAY[wanted]);
    IF NOT written[1] AND changed IS NOT NULL THEN
        FOREACH nth IN ARRAY changed LOOP
            written[nth] := true;
        END LOOP;
    END IF;
    PERFORM deed_append(
        written,
        $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51);
    RETURN written;
END
$$;

-- Keeps the results of settled actions. The first proof decides, and its result is the one that everybody was told.
CREATE FUNCTION deed_keep_results(namespaces text[], action_ids text[], effect_ids uuid[], stored bytea[])
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO results (namespace, action_id, effect_id, result)
    SELECT namespaces[n], action_ids[n], effect_ids[n], stored[n]
      FROM generate_series(1, cardinality(namespaces)) AS n
     CROSS JOIN LATERAL (
           SELECT true
             FROM actions AS s
            WHERE s.namespace = namespaces[n] AND s.action_id = action_ids[n]
    -- Only of rows that this very transaction wrote; beats: a report that lost the race to create its action.
              AND s.xmin = pg_current_xact_id()::xid
            LIMIT 1) AS own
    ON CONFLICT (namespace, action_id) DO NOTHING;
END
$$;

-- Registers external ids, each for the action that it proves from now on.
--
-- A statement of its own, after the rows: whoever waits here holds no row that the other side still wants. In key order;
-- beats: two transactions register two ids in opposite orders and wait for each other.
-- No ON CONFLICT: of two actions that name one effect the second must fail, and be judged again with the first in sight.
CREATE FUNCTION deed_register(namespaces text[], tools text[], external_ids text[], action_ids text[])
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO external_ids (namespace, tool, external_id, action_id)
    SELECT r.namespace, r.tool, r.external_id, r.action_id
      FROM unnest(namespaces, tools, external_ids, action_ids) AS r (namespace, tool, external_id, action_id)
     CROSS JOIN LATERAL (
           SELECT true
             FROM actions AS s
            WHERE s.namespace = r.namespace AND s.action_id = r.action_id
    -- Only of rows that this very transaction wrote; beats: a report that lost the race to create its action.
              AND s.xmin = pg_current_xact_id()::xid
            LIMIT 1) AS own
     ORDER BY r.namespace COLLATE "C", r.tool COLLATE "C", r.external_id COLLATE "C";
END
$$;
