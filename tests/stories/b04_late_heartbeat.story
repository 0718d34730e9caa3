# B04 late heartbeat steals the lease back (lion-reader PR #917): refused, and the new owner's expiry is untouched
contract serialized settle=10 lease=5

at 0    W1 claim                        -> execute token=t1 !begun
at 6    W2 claim                        -> execute token=t2 token>t1 !begun expires_at=11
at 7    W1 renew t1                     -> held W2 lease_left=4s
at 7    W1 begin t1                     -> held W2 lease_left=4s !safe
at 7    W1 release t1                   -> held W2 lease_left=4s
at 8    W3 claim                        -> held W2 lease_left=3s
at 10.9 W2 begin t2                     -> execute token=t2 attempt=1 begun expires_at=11 lease_left=100ms
state SENT attempts=1
history granted@t1 lapsed@t1 granted@t2 begun@t2
