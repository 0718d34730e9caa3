# C12 COMPLETED, to be confirmed by a lookup, and the lookup says absent: a contradiction, no retry
contract serialized confirm_by=postcondition settle=5 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1
at 1    W1 report t1 completed ext=X            -> claimable verify state=ACCEPTED
# Quiet: 1 + 5 + 1.
at 7    W2 claim                                -> verify token=t2 ext=X
at 7    W2 verify t2 not_found then=begun       -> blocked CONTRADICTION !safe
at 60   W1 claim begin                          -> blocked CONTRADICTION
state UNKNOWN reason=CONTRADICTION attempts=1 undisproved=1
# Proof ends it.
at 61   HOOK observe confirmed ext=X            -> settled CONFIRMED ext=X
