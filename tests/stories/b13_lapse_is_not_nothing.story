# B13 lapse read as "nothing happened" (powertools-python #8049): only lookups, waiting or a person; one effect
contract serialized settle=10 lease=5 send_timeout=1 lookups=3

at 0    W1 claim begin                          -> execute token=t1 begun
at 5    W2 claim begin                          -> verify token=t2 state=UNKNOWN
at 6    W2 verify t2 unknown why="search is down" then=begun -> wait settle_window !safe
from 7 to 60 every 1 W3 claim begin             -> any !safe
# W3's own lookups lapsed one by one, each as an inconclusive one.
at 61   W3 claim begin                          -> blocked VERIFICATIONS_EXHAUSTED detail~"3 lookups" state=UNKNOWN
at 24h  W3 claim begin                          -> blocked VERIFICATIONS_EXHAUSTED
state UNKNOWN reason=LEASE_LAPSED attempts=1 undisproved=1
history granted@t1 lapsed@t1 granted@t2 observed@t2 granted lapsed granted lapsed
