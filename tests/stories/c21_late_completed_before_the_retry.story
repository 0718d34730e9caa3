# C21 after NOT_FOUND, before the retry begins, a late COMPLETED arrives: the grant is fenced, nobody sends
contract serialized confirm_by=postcondition settle=0 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1 attempt=1
at 7    W2 claim                                -> verify token=t2 absence_from=7
at 7    W2 verify t2 not_found then=grant       -> execute token=t3 attempt=2 !begun state=NOT_FOUND
at 8    W1 report t1 completed ext=X then=begun -> blocked CONTRADICTION !safe state=UNKNOWN
at 8    W2 begin t3                             -> blocked CONTRADICTION !safe
at 9    W3 claim begin                          -> blocked CONTRADICTION
at 10   HOOK observe confirmed ext=X            -> settled CONFIRMED ext=X flags=CONTRADICTED
state CONFIRMED attempts=1
history granted@t1 lapsed@t1 granted@t2 observed@t2 granted@t3 reported@t1 fenced@t3 observed flagged
