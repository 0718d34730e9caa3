# C16 an operator decides while the holder renews every second: not refused for the renewals
contract serialized settle=10 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1 begun version=v1
from 1 to 4 every 1 W1 renew t1                 -> renewed lease_left=5s
at 4.5  OP assign alice version=v1              -> held W1 version=v2
from 5 to 8 every 1 W1 renew t1                 -> renewed lease_left=5s
# What somebody else decided meanwhile does refuse it.
at 8.5  OP resolve abandoned version=v1         -> error VERSION_CHANGED code=ABORTED
at 8.5  OP resolve abandoned version=v2 note="customer left" -> settled ABANDONED outcome=EFFECT_UNKNOWN note="customer left"
at 9    W1 renew t1                             -> settled ABANDONED
# The effect turns up after all.
at 9    W1 report t1 completed ext=X            -> settled CONFIRMED ext=X flags=CONTRADICTED
state CONFIRMED assignee=alice
