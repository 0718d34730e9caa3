# B28 acceptance taken as effect (comp PR #2493): confirmed only by the lookup, which is given the receiver's id
contract serialized confirm_by=postcondition settle=10 lease=30

at 0    W1 claim begin                              -> execute token=t1
at 1    W2 claim begin                              -> held W1
at 2    W1 report t1 accepted ext=J1 retry_after=5  -> wait pending retry_after=5s state=ACCEPTED !safe
at 3    W2 claim begin                              -> wait pending retry_after=4s
at 7    W2 claim begin                              -> verify token=t2 ext=J1 state=ACCEPTED
at 8    W2 verify t2 confirmed ext=J1               -> settled CONFIRMED ext=J1 basis=OBSERVATION
