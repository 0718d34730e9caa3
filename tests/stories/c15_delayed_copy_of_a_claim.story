# C15 a delayed copy of a claim with begin arrives after its grant is gone: no begun attempt that nobody knows of
contract serialized settle=10 lease=5 send_timeout=1
action given_back
action lapsed

at 0    W1 claim begin req=r1                   -> execute token=t1 attempt=1 begun
at 1    W1 report t1 not_sent why="shutting down" -> wait backoff state=PLANNED
at 3    W1 claim begin req=r1                   -> claimable execute token=- state=PLANNED
at 4    W2 claim begin                          -> execute token=t2 attempt=2
at 4    W1 claim begin req=r1                   -> held W2
state SENT attempts=2 undisproved=2

at 0    W1 claim begin req=r2 on=lapsed         -> execute token=s1 begun
at 9    W1 claim begin req=r2 on=lapsed         -> claimable verify state=UNKNOWN
state UNKNOWN on=lapsed attempts=1 undisproved=1
