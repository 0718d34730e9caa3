-- What a careful team writes by hand: the action with its guards, and a history that refuses a second grant and a second
-- effect, with the constraints that Deed's own tables have.

CREATE TABLE actions (
    namespace        text COLLATE "C" NOT NULL,
    action_id        text COLLATE "C" NOT NULL,
    created_at       timestamptz NOT NULL,
    tool             text NOT NULL,
    input_digest     bytea NOT NULL,
    state            text NOT NULL,
    version          bigint NOT NULL,
    sequence         bigint NOT NULL,
    token            bigint NOT NULL,
    attempts         bigint NOT NULL,
    lease_owner      text,
    lease_expires_at timestamptz,
    begun_at         timestamptz,
    effect_id        uuid,
    CONSTRAINT actions_pkey PRIMARY KEY (namespace, action_id),
    CONSTRAINT actions_key_not_empty CHECK (namespace <> '' AND action_id <> ''),
    CONSTRAINT actions_state_known CHECK (state IN ('PLANNED', 'SENT', 'UNKNOWN', 'CONFIRMED', 'REJECTED')),
    CONSTRAINT actions_numbers_grow CHECK (version >= 0 AND sequence >= 0 AND token > 0 AND attempts >= 0),
    CONSTRAINT actions_lease_whole CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL)),
    CONSTRAINT actions_sent_has_sender CHECK (state <> 'SENT' OR (lease_owner IS NOT NULL AND begun_at IS NOT NULL)),
    CONSTRAINT actions_confirmed_has_proof CHECK (state <> 'CONFIRMED' OR effect_id IS NOT NULL)
) WITH (fillfactor = 70);

-- What people look for.
CREATE INDEX actions_by_creation ON actions (created_at);
CREATE INDEX actions_undecided ON actions (state, created_at) WHERE state NOT IN ('CONFIRMED', 'REJECTED');

CREATE TABLE events (
    namespace  text COLLATE "C" NOT NULL,
    action_id  text COLLATE "C" NOT NULL,
    sequence   bigint NOT NULL,
    at         timestamptz NOT NULL,
    kind       text NOT NULL,
    token      bigint NOT NULL,
    owner      text NOT NULL,
    request_id uuid NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (namespace, action_id, sequence),
    CONSTRAINT events_kind_known CHECK (kind IN ('GRANTED', 'REPORTED')),
    CONSTRAINT events_numbers_positive CHECK (sequence > 0 AND token > 0)
);
CREATE UNIQUE INDEX events_one_grant_per_token ON events (namespace, action_id, token) WHERE kind = 'GRANTED';
CREATE UNIQUE INDEX events_one_effect_per_request ON events (namespace, action_id, request_id);
