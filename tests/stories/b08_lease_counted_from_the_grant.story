# B08 grant already lapsed (etcd #11456): the lease counts from the grant's own time, also when the answer comes late
contract serialized settle=10 lease=2

at 0    W1 plan                         -> claimable execute
at 4    W1 claim req=r1                 -> execute token=t1 lease_left=2s expires_at=6
# The answer was slow; whoever asks again is told what is left, not a lease from now on.
at 5.5  W1 claim req=r1                 -> execute token=t1 lease_left=500ms expires_at=6
at 5.9  W2 claim                        -> held W1 lease_left=100ms
at 6    W2 claim                        -> execute token=t2 token>t1 expires_at=8
