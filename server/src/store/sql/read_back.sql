-- Makes this transaction write WAL, so that its COMMIT waits for the standby, and with it everything that was read.
-- Beats: a grant read back from a primary whose standby has not got it yet, told, and lost with the primary (C4, C20).
SELECT pg_logical_emit_message(true, 'deed', 'read back')
