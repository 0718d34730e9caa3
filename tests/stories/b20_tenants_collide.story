# B20 tenants collide: the same id in two namespaces is two actions, also by their external ids
contract deduplicated window=24h
action ours id=order-1 namespace=ours
action theirs id=order-1 namespace=theirs input=other

at 0    W1 claim begin on=ours                          -> execute token=t1
at 0    W2 claim begin on=theirs                        -> execute token=t2 !resend
at 1    W1 report t2 rejected on=theirs                 -> error NOT_YOUR_GRANT
at 1    W1 report t1 completed ext=X result=a on=ours   -> settled CONFIRMED
at 2    HOOK observe confirmed ext=X via=X on=theirs    -> error ACTION_NOT_FOUND
at 2    W2 report t2 completed ext=X result=b on=theirs -> settled CONFIRMED result=b flags=-
at 3    W3 claim on=ours                                -> settled CONFIRMED result=a flags=-
