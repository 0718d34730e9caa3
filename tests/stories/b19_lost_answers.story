# B19 own claim's answer lost (idempot-js #185): the repeat gets the same grant, nobody else ever does
contract serialized settle=10 lease=30

at 0    W1 claim begin req=r1           -> execute token=t1 attempt=1 begun expires_at=30 lease_left=30s
at 1    W1 claim begin req=r1           -> execute token=t1 attempt=1 begun expires_at=30 lease_left=29s
at 2    W1 claim begin                  -> held W1 lease_left=28s
at 3    W2 claim begin req=r1           -> error REQUEST_ID_REUSED code=INVALID_ARGUMENT token=-
at 3    W1 claim req=r1                 -> error REQUEST_ID_REUSED
# Renewals displace nothing.
at 4    W1 renew t1                     -> renewed expires_at=34
at 5    W1 claim begin req=r1           -> execute token=t1 begun expires_at=34 lease_left=29s
at 6    W1 report t1 completed ext=X req=r2 -> settled CONFIRMED effect=r2 version=v1
at 7    W1 report t1 completed ext=X req=r2 -> settled CONFIRMED effect=r2 version=v1 ext=X
at 8    W1 report t1 completed ext=Y req=r2 -> error REQUEST_ID_REUSED
at 9    W1 claim begin req=r1           -> settled CONFIRMED
history granted@t1 reported@t1

# A begin and a report that asked for more are repeated in the same way.
action b
at 20   W1 claim on=b                   -> execute token=t2 !begun
at 21   W1 begin t2 req=r3 on=b         -> execute token=t2 begun
at 22   W1 begin t2 req=r3 on=b         -> execute token=t2 begun lease_left=28s
at 22   W1 begin t2 on=b                -> held W1
at 23   W1 report t2 unknown ended then=grant req=r4 on=b -> verify token=t3
at 24   W1 report t2 unknown ended then=grant req=r4 on=b -> verify token=t3 lease_left=29s
at 24   W1 claim req=r5 on=b            -> held W1
at 25   W1 verify t3 unknown req=r6 on=b -> wait settle_window
at 26   W1 verify t3 unknown req=r6 on=b -> wait settle_window inconclusive=-
state UNKNOWN on=b inconclusive=1
history on=b granted@t2 begun@t2 reported@t2 granted@t3 observed@t3
