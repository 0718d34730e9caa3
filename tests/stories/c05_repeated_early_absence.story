# C5 an early NOT_FOUND is repeated by the network after the quiet time: it never counts, and starts no other lookup
contract serialized settle=10 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1
at 1    W1 report t1 unknown ended              -> claimable verify
at 2    W2 claim                                -> verify token=t2 absence_from=12
at 3    W2 verify t2 not_found then=begun req=r3 -> wait settle_window state=UNKNOWN
at 20   W2 verify t2 not_found then=begun req=r3 -> claimable verify state=UNKNOWN !safe
# Nor under another request id: its lookup was granted too early, whenever it is told.
at 21   W2 verify t2 not_found                  -> claimable verify state=UNKNOWN
state UNKNOWN attempts=1 undisproved=1 inconclusive=0
history granted@t1 reported@t1 granted@t2 observed@t2 observed@t2
