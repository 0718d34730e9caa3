# A13 asynchronous job runs long, then fails: pending is not inconclusive; after FAILED it is retried within the limits
contract serialized async settle=10 deadline=2h lease=30 attempts=2 lookups=2
action a
action stuck

at 0    W1 claim begin                          -> execute token=t1 begun
at 1    W1 report t1 accepted ext=J1            -> claimable verify state=ACCEPTED
at 60   W1 claim                                -> verify token=t2 ext=J1
at 60   W1 verify t2 pending retry_after=600    -> wait pending retry_after=600s state=ACCEPTED
at 300  W2 claim                                -> wait pending retry_after=360s
at 660  W2 claim                                -> verify token=t3 ext=J1
at 660  W2 verify t3 pending retry_after=600    -> wait pending
at 1260 W1 claim                                -> verify token=t4
at 1260 W1 verify t4 pending retry_after=600    -> wait pending
at 1860 W1 claim                                -> verify token=t5
at 1860 W1 verify t5 pending retry_after=29m    -> wait pending retry_after=29m
state ACCEPTED inconclusive=0 undisproved=1
at 3600 W1 claim                                -> verify token=t6 ext=J1
at 3600 W1 verify t6 failed ext=J1 why="quota" then=begun
                                                -> wait backoff retry_after=1s state=NOT_FOUND
at 3601 W1 claim begin                          -> execute token=t7 attempt=2 begun !resend
at 3602 W1 report t7 accepted ext=J2            -> claimable verify
at 3603 W1 claim                                -> verify token=t8 ext=J2
at 3604 W1 verify t8 failed ext=J2 then=begun   -> blocked ATTEMPTS_EXHAUSTED state=NOT_FOUND

# The deadline runs from the ACCEPTED receipt; a lookup that still sees the job pending then asks a person.
at 0    W3 claim begin on=stuck                 -> execute token=s1
at 10   W3 report s1 accepted ext=K1 on=stuck   -> claimable verify
at 7209 W3 claim on=stuck                       -> verify token=s2
at 7209 W3 verify s2 pending on=stuck           -> wait pending retry_after=1s
at 7210 W3 claim on=stuck                       -> verify token=s3
at 7210 W3 verify s3 pending on=stuck           -> blocked EFFECT_DEADLINE_PASSED state=ACCEPTED
at 3h   W3 claim begin on=stuck                 -> blocked EFFECT_DEADLINE_PASSED !safe
at 4h   HOOK observe confirmed ext=K1 via=K1 on=stuck -> settled CONFIRMED ext=K1
