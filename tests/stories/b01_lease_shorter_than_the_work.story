# B01 lease shorter than the work (langgraph #7417): held while it is renewed, verified once it is not
contract serialized settle=10 lease=5 send_timeout=20
action renewed
action stopped

at 0    W1 claim begin                  -> execute token=t1 begun expires_at=5
at 2    W1 renew t1                     -> renewed expires_at=7 lease_left=5s
at 4    W1 renew t1                     -> renewed expires_at=9
at 6    W1 renew t1                     -> renewed expires_at=11
at 7    W2 claim begin                  -> held W1 lease_left=4s
from 8 to 12 every 2 W1 renew t1        -> renewed lease_left=5s
at 13   W2 claim begin                  -> held W1 lease_left=4s
at 14   W1 renew t1                     -> renewed expires_at=19
at 15   W1 report t1 completed ext=X    -> settled CONFIRMED
at 16   W2 claim begin                  -> settled CONFIRMED ext=X
history granted@t1 reported@t1

at 0    W1 claim begin on=stopped       -> execute token=s1 begun
at 2    W1 renew s1 on=stopped          -> renewed
at 4    W1 renew s1 on=stopped          -> renewed expires_at=9
at 8.9  W2 claim begin on=stopped       -> held W1 lease_left=100ms
at 9.2  W2 claim begin on=stopped       -> verify token=s2 token>s1 state=UNKNOWN
# A renewal revives nothing.
at 9.3  W1 renew s1 on=stopped          -> held W2
history on=stopped granted@s1 lapsed@s1 granted@s2
