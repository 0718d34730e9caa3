# C17 accepted, but the command waits in the receiver's queue: absence does not count before the effect deadline
contract serialized async settle=10 deadline=600 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1
at 1    W1 report t1 accepted ext=J1            -> claimable verify state=ACCEPTED
# Quiet: accepted at 1 + deadline 600 + settle 10 + clock step 1.
at 5    W2 claim                                -> verify token=t2 absence_from=612
at 5    W2 verify t2 not_found then=begun       -> wait settle_window due_at=612 state=ACCEPTED !safe
at 300  W2 claim begin                          -> wait settle_window
at 612  W2 claim                                -> verify token=t3 ext=J1
at 612  W2 verify t3 not_found then=begun       -> execute token=t4 attempt=2 begun
