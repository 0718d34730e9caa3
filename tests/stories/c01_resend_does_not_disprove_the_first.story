# C1 a re-send that did nothing says nothing about the first attempt: it stays undisproved, and is never executed again
contract deduplicated window=100 lease=5 send_timeout=5
action in_progress
action nothing_left
action already_exists

# Attempt 1 has its effect, its answer is lost. The key in progress answers for attempt 2 only.
at 0    W1 claim begin                  -> execute token=t1 attempt=1 begun
at 6    W2 claim begin                  -> execute token=t2 attempt=2 begun resend state=SENT
at 7    W2 report t2 not_applied why="key in progress" -> wait backoff state=UNKNOWN
state UNKNOWN undisproved=1 attempts=2
# The last re-send must be over, and settled, within the receiver's window: 100 - 5 - 1.
at 94   W3 claim begin                  -> blocked DEDUPLICATION_WINDOW_PASSED state=UNKNOWN !safe
at 101  W3 claim begin                  -> blocked DEDUPLICATION_WINDOW_PASSED
at 102  OP reopen new_key proof=none    -> error DECISION_NOT_ALLOWED

at 0    W1 claim begin on=nothing_left  -> execute token=u1
at 6    W2 claim begin on=nothing_left  -> execute token=u2 resend
at 7    W2 report u2 not_sent on=nothing_left -> any !safe state=UNKNOWN
state UNKNOWN on=nothing_left undisproved=1 counted=1
at 101  W3 claim begin on=nothing_left  -> blocked DEDUPLICATION_WINDOW_PASSED

at 0    W1 claim begin on=already_exists -> execute token=r1
at 6    W2 claim begin on=already_exists -> execute token=r2 resend
at 7    W2 report r2 rejected why="already exists" on=already_exists -> any !safe state=UNKNOWN
state UNKNOWN on=already_exists undisproved=1
at 30   OP reopen new_key proof=none on=already_exists -> error DECISION_NOT_ALLOWED
at 101  W3 claim begin on=already_exists -> blocked DEDUPLICATION_WINDOW_PASSED
