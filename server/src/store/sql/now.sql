-- The database's time, for screens. A transaction reads it after its locks are held, in `deed_lock` and `deed_lock_free`.
SELECT clock_timestamp() AS now
