# A8 receiver's limit: waits at least as long as the receiver says, the attempt counts, then it is executed again
contract at_most_once lease=5 backoff=1 attempts=2

at 0    W1 claim begin                                          -> execute token=t1 attempt=1
at 1    W1 report t1 not_applied retry_after=30 why="429 slow down" -> wait backoff retry_after=30s state=PLANNED
at 30.9 W1 claim begin                                          -> wait backoff retry_after=100ms
at 31   W2 claim begin                                          -> execute token=t2 token>t1 attempt=2 begun
# The receiver says "at once"; the contract's own backoff is longer (2 s after the second failure). Out of attempts comes first.
at 32   W2 report t2 not_applied why="locked by batch" then=begun
                                                                -> blocked ATTEMPTS_EXHAUSTED detail~"locked by batch" state=PLANNED
at 99   W3 claim begin                                          -> blocked ATTEMPTS_EXHAUSTED detail~"2 of 2"

state PLANNED attempts=2 counted=2
