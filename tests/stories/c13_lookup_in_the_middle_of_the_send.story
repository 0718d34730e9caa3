# C13 settle window 0, send timeout 30: absence does not count in the middle of the send, unless it was reported over
contract serialized settle=0 lease=5 send_timeout=30
action silent
action over

at 0    W1 claim begin                          -> execute token=t1
at 6    W2 claim                                -> verify token=t2 absence_from=36
at 6    W2 verify t2 not_found then=begun       -> wait settle_window due_at=36 state=UNKNOWN
at 35.9 W2 claim begin                          -> wait settle_window
at 36   W2 claim                                -> verify token=t3
at 36   W2 verify t3 not_found then=begun       -> execute token=t4 attempt=2 begun

at 0    W1 claim begin on=over                  -> execute token=s1
at 1    W1 report s1 unknown ended on=over      -> claimable verify
at 2    W2 claim on=over                        -> verify token=s2 absence_from=2
at 2    W2 verify s2 not_found then=begun on=over -> execute token=s3 attempt=2 begun
