# C3 the answer waits for the standby: the lease does not grow by it, and after its true end nothing begins
contract serialized settle=10 lease=5 send_timeout=1

at 0    W1 claim req=r1                 -> execute token=t1 lease_left=5s expires_at=5
# The first answer never came; three seconds later the same grant is told, with what is left of it.
at 3    W1 claim req=r1                 -> execute token=t1 lease_left=2s expires_at=5 !begun
at 5    W1 begin t1                     -> claimable execute !safe state=PLANNED
at 5    W2 claim begin                  -> execute token=t2 token>t1 attempt=1 begun
