# C3 the commit of a grant waits for the standby: the lease does not grow by it, and after its true end nothing begins
contract serialized settle=10 lease=5 send_timeout=1
commits take 3

# The lease counts from the time that was read before the commit, and the wait is not told as one that lies before it.
at 0    W1 claim req=r1                 -> execute token=t1 lease_left=5s expires_at=5 waited=- !begun
# The same grant, read back: what is left of it now.
at 3    W1 claim req=r1                 -> execute token=t1 lease_left=2s expires_at=5 waited=- !begun
at 4    W1 renew t1                     -> renewed lease_left=5s expires_at=9 waited=-
at 8    W2 claim                        -> held W1 lease_left=1s
at 9    W1 begin t1                     -> claimable execute !safe state=PLANNED
at 9    W2 claim begin                  -> execute token=t2 token>t1 attempt=1 begun expires_at=14
history granted@t1 lapsed@t1 granted@t2
