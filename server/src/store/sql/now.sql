-- A statement of its own, after the locks are held: beats the frozen clock, where a time read before a wait for a lock
-- makes a lease that has lapsed meanwhile look live.
SELECT clock_timestamp() AS now
