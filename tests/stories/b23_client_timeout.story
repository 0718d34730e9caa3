# B23 client timeout, called again (adk-java #285): held while the tool runs, later settled; once given up, verified
contract serialized settle=5 lease=8 send_timeout=30
action patient
action gone

at 0    W1 claim begin                  -> execute token=t1 begun
from 2.5 to 22.5 every 2.5 W1 renew t1  -> renewed lease_left=8s
at 10.5 W1 claim begin                  -> held W1
at 25   W1 report t1 completed ext=X    -> settled CONFIRMED
at 26   W1 claim begin                  -> settled CONFIRMED ext=X

at 0    W1 claim begin on=gone          -> execute token=s1 begun
from 2.5 to 7.5 every 2.5 W1 renew s1 on=gone -> renewed
at 10   W1 report s1 unknown why="gave up" on=gone -> claimable verify state=UNKNOWN
# The tool may still be running: the send timeout counts from the lease it was told would end at 15.5.
at 10.5 W1 claim begin on=gone          -> verify token=s2 absence_from=51.5
