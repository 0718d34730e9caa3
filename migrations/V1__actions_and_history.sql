-- What Deed remembers: actions, their history, which external id proves which action, and stored results.
--
-- The core decides; these tables refuse what a broken decision, a broken server or a hand could write (design rule 16).
-- Keys compare by bytes ("C"), so that every server sorts them alike and a prefix is a range of the primary key.

CREATE TABLE actions (
    namespace           text COLLATE "C" NOT NULL,
    action_id           text COLLATE "C" NOT NULL,
    created_at          timestamptz NOT NULL,
    -- The day whose partition holds the history, in UTC whatever the session says.
    created_day         date NOT NULL GENERATED ALWAYS AS ((created_at AT TIME ZONE 'UTC')::date) STORED,

    -- Fixed at creation; no UPDATE names them, so a large contract is never written again.
    tool                text COLLATE "C" NOT NULL,
    input_scheme        text NOT NULL,
    input_digest        bytea NOT NULL,
    labels              jsonb NOT NULL,
    specification       json NOT NULL,

    state               text NOT NULL,
    state_since         timestamptz NOT NULL,
    doubt               text,
    stop                text,
    closure             text,
    reason              text NOT NULL,

    version             bigint NOT NULL,
    sequence            bigint NOT NULL,
    token               bigint NOT NULL,

    lease_token         bigint,
    lease_owner         text COLLATE "C",
    lease_principal     text,
    lease_kind          text,
    lease_granted_at    timestamptz,
    -- In no index, as is the version: a renewal is a HOT update (design rule 18).
    lease_expires_at    timestamptz,
    lease_begun_at      timestamptz,
    lease_ended         text,
    lease_terms         json,

    approval_expires_at timestamptz,
    attempts            bigint NOT NULL,
    undisproved         json NOT NULL,
    external_id         text COLLATE "C",
    effect_id           uuid,
    duplicate_suspected boolean NOT NULL,
    contradicted        boolean NOT NULL,
    ungated             boolean NOT NULL,
    assignee            text COLLATE "C",
    -- What only the core reads: backoffs, lookups, facts, limits. Documents are `json`, kept as they were sent: what
    -- `jsonb` would cost with every write, nothing that reads them needs. Labels are searched.
    progress            json NOT NULL,
    -- The request ids that history remembers of this action, while they are few; null once there are more. A call whose id
    -- is not among them is no repeat, and history need not be asked.
    requests            uuid[],

    CONSTRAINT actions_pkey PRIMARY KEY (namespace, action_id),
    CONSTRAINT actions_key_not_empty CHECK (namespace <> '' AND action_id <> ''),
    CONSTRAINT actions_state_known CHECK (state IN (
        'AWAITING_APPROVAL', 'PLANNED', 'SENT', 'ACCEPTED', 'PARTIAL', 'UNKNOWN', 'NOT_FOUND',
        'CONFIRMED', 'REJECTED', 'ABANDONED')),
    CONSTRAINT actions_numbers_grow CHECK (
        version >= 0 AND sequence >= 0 AND token > 0 AND attempts >= 0 AND lease_token <= token),
    CONSTRAINT actions_lease_whole CHECK (
        CASE WHEN lease_token IS NULL
        THEN num_nonnulls(lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at,
                          lease_begun_at, lease_ended, lease_terms) = 0
        ELSE num_nulls(lease_owner, lease_principal, lease_kind, lease_granted_at, lease_expires_at, lease_terms) = 0
             AND lease_kind IN ('EXECUTE', 'VERIFY')
             AND (lease_ended IS NULL OR lease_ended IN ('EVIDENCE', 'RELEASED', 'LAPSED', 'FENCED'))
        END),
    CONSTRAINT actions_lookup_never_begins CHECK (lease_kind <> 'VERIFY' OR lease_begun_at IS NULL),
    -- "May be sending" is the word for a holder who is: nobody else may be let in meanwhile.
    CONSTRAINT actions_sent_has_sender CHECK (
        state <> 'SENT'
        OR (lease_token IS NOT NULL AND lease_begun_at IS NOT NULL AND lease_ended IS NULL)),
    -- Executable states: an attempt that may have left an effect would be doubled.
    CONSTRAINT actions_executable_has_no_doubt CHECK (
        state NOT IN ('PLANNED', 'NOT_FOUND') OR json_array_length(undisproved) = 0),
    CONSTRAINT actions_attempts_counted CHECK (json_array_length(undisproved) <= attempts),
    CONSTRAINT actions_unknown_has_reason CHECK (state <> 'UNKNOWN' OR doubt IS NOT NULL),
    CONSTRAINT actions_confirmed_has_proof CHECK (state <> 'CONFIRMED' OR effect_id IS NOT NULL),
    CONSTRAINT actions_closed_says_how CHECK (state NOT IN ('REJECTED', 'ABANDONED') OR closure IS NOT NULL),
    CONSTRAINT actions_settled_is_free CHECK (
        state NOT IN ('CONFIRMED', 'REJECTED', 'ABANDONED') OR lease_token IS NULL OR lease_ended IS NOT NULL),
    CONSTRAINT actions_approval_awaited CHECK (state <> 'AWAITING_APPROVAL' OR approval_expires_at IS NOT NULL)
) WITH (
    -- Room on the page for some renewals of its rows between two vacuums: with 70 % a page of 8 KiB keeps about
    -- 2.4 KiB, the new versions of one or two rows, and pruning turns them over.
    fillfactor = 70,
    -- A table of millions with a small hot end: the default of 20 % dead rows would let the hot end bloat for days. And
    -- a table of thousands is not worth a visit every few seconds, which would cost more than the work that it follows.
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 10000
);

-- Lists, newest or oldest first.
CREATE INDEX actions_by_creation ON actions (created_at, namespace, action_id);
-- Work that is not over: lists by state, longest first, and approvals that expire.
CREATE INDEX actions_undecided ON actions (state, state_since, namespace, action_id)
    WHERE state NOT IN ('CONFIRMED', 'REJECTED', 'ABANDONED');
-- Leases that nobody has ended (the sweeper's), or that ended by lapsing (whose they were). No expiry: a renewal would
-- be an index update.
CREATE INDEX actions_leased ON actions (lease_ended, lease_owner, namespace, action_id)
    WHERE lease_token IS NOT NULL AND (lease_ended IS NULL OR lease_ended = 'LAPSED');
-- What people look for: few rows each.
CREATE INDEX actions_flagged ON actions (created_at, namespace, action_id)
    WHERE duplicate_suspected OR contradicted OR ungated;
CREATE INDEX actions_assigned ON actions (assignee, created_at, namespace, action_id) WHERE assignee IS NOT NULL;
CREATE INDEX actions_closed ON actions (state, created_at, namespace, action_id)
    WHERE state IN ('REJECTED', 'ABANDONED');
-- Without the actions that have none, so that those do not pay for it.
CREATE INDEX actions_by_label ON actions USING gin (labels jsonb_path_ops) WHERE labels <> '[]';

-- History. Append-only; its partition is the day on which its *action* was created, so that all history of one action
-- lies in one place, and a day goes as a whole once nothing in it is undecided.
CREATE TABLE events (
    created_day  date NOT NULL,
    created_at   timestamptz NOT NULL,
    namespace    text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    sequence     bigint NOT NULL,
    at           timestamptz NOT NULL,
    kind         text NOT NULL,
    token        bigint,
    attempt      bigint,
    by_owner     text,
    by_principal text,
    request_id   uuid,
    fingerprint  bytea,
    granted      bigint,
    begun        boolean,
    state        text NOT NULL,
    body         json NOT NULL,
    -- The result that the evidence brought: bytes, which JSON cannot hold.
    result       bytea,

    -- One row of history per place in it: of two servers that both append, one fails.
    --
    -- The action's creation leads every key of history: it is fixed, and it puts what is written now side by side at the
    -- end of each index, where the page is in memory, instead of anywhere by the spelling of ids.
    CONSTRAINT events_pkey PRIMARY KEY (created_at, namespace, action_id, sequence, created_day),
    CONSTRAINT events_in_their_day CHECK (created_day = (created_at AT TIME ZONE 'UTC')::date),
    CONSTRAINT events_kind_known CHECK (kind IN (
        'PLANNED', 'GRANTED', 'BEGUN', 'REPORTED', 'OBSERVED', 'LAPSED', 'RELEASED', 'FENCED',
        'APPROVAL_EXPIRED', 'DECIDED', 'CONTESTED', 'FLAGGED')),
    CONSTRAINT events_kind_told_once CHECK (body ->> 'kind' = kind),
    CONSTRAINT events_numbers_positive CHECK (sequence > 0 AND token > 0 AND granted > 0 AND attempt >= 0),
    CONSTRAINT events_caller_whole CHECK ((by_owner IS NULL) = (by_principal IS NULL)),
    CONSTRAINT events_trace_whole CHECK (
        (request_id IS NULL AND num_nonnulls(fingerprint, granted, begun) = 0)
        OR (request_id IS NOT NULL AND fingerprint IS NOT NULL AND begun IS NOT NULL AND by_owner IS NOT NULL)),
    CONSTRAINT events_grant_has_token CHECK (kind <> 'GRANTED' OR token IS NOT NULL)
) PARTITION BY RANGE (created_day);

-- One grant per token: a token that two holders were given is worth nothing.
CREATE UNIQUE INDEX events_one_grant_per_token ON events (created_at, namespace, action_id, token, created_day)
    WHERE kind = 'GRANTED';
-- One effect per request: a repeat finds what the first one did, and can do nothing a second time.
CREATE UNIQUE INDEX events_one_effect_per_request ON events (created_at, namespace, action_id, request_id, created_day)
    WHERE request_id IS NOT NULL;

-- Catches a day for which no partition was made in time. Nothing is lost; that day just cannot go as a whole.
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- One effect proves one action (design rule 12).
CREATE TABLE external_ids (
    namespace   text COLLATE "C" NOT NULL,
    tool        text COLLATE "C" NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    action_id   text COLLATE "C" NOT NULL,
    CONSTRAINT external_ids_pkey PRIMARY KEY (namespace, tool, external_id)
);

-- The deciding evidence's result, handed to whoever asks again; apart, so that no update of the row carries it.
CREATE TABLE results (
    namespace text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    effect_id uuid NOT NULL,
    result    bytea NOT NULL,
    CONSTRAINT results_pkey PRIMARY KEY (namespace, action_id),
    -- 256 KiB, the limit of the API.
    CONSTRAINT results_bounded CHECK (octet_length(result) <= 262144)
);

-- Makes the partitions of today and the next `ahead` days; says how many it made.
--
-- Safe to call from any number of servers: one does it, the others find the advisory lock taken and leave. The caller
-- sets a short lock_timeout. A day that already has rows in the default partition stays there: moving them would lock
-- out the history of their actions.
CREATE FUNCTION deed_prepare_days(ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    day   date;
    name  text;
    made  integer := 0;
BEGIN
    -- 0x64656564 is "deed"; 2 is this work (1 is migrating).
    IF NOT pg_try_advisory_xact_lock(1684366692, 2) THEN
        RETURN 0;
    END IF;
    FOR day IN SELECT today + n FROM generate_series(0, ahead) AS n LOOP
        name := 'events_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL
            OR EXISTS (SELECT FROM events_default AS strays WHERE strays.created_day = day);
        -- Made apart and attached: CREATE … PARTITION OF would lock the whole history against readers.
        EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING CONSTRAINTS)', name);
        EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
        made := made + 1;
    END LOOP;
    RETURN made;
END
$$;
