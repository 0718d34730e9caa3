-- Opens the transaction. Everything here ends with it, so that a transaction pooler may hand the session on.
--
-- READ COMMITTED: a lock that was waited for yields the row as it is now, not as it was when the wait began.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('lock_timeout', '{lock_timeout}', true),
       -- Nothing cancels a COMMIT; the locks before it have their own limit.
       set_config('statement_timeout', '0', true),
       -- Beats: a server frozen between its two halves keeps everybody else from its rows.
       set_config('idle_in_transaction_session_timeout', '{idle_timeout}', true),
       -- Only ever raised (design rule 19): `remote_apply`, where somebody has set it, stays.
       set_config('synchronous_commit', CASE
           WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
           ELSE current_setting('synchronous_commit') END, true),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
