# A5 concurrent tries: one owner; the other is held, then gets the stored result
contract deduplicated window=24h lease=30

at 0    W1 claim begin                          -> execute token=t1 begun guarantee=DEDUPLICATED
at 0    W2 claim begin                          -> held W1 lease_left=30s retry_after=1s state=SENT
at 0    W2 begin t1                             -> error NOT_YOUR_GRANT code=PERMISSION_DENIED
at 1    W1 report t1 completed ext=X result=ok req=receipt -> settled CONFIRMED effect=receipt basis=RECEIPT
at 2    W2 claim begin                          -> settled CONFIRMED ext=X result=ok effect=receipt

history granted@t1 reported@t1
