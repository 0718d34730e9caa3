# C2 the lookup still shows the failed job of an attempt that was retried: evidence only, no execution
contract serialized async settle=0 deadline=60 lease=5 send_timeout=1

at 0    W1 claim begin                              -> execute token=t1 attempt=1
at 1    W1 report t1 accepted ext=J1                -> claimable verify
at 2    W1 claim                                    -> verify token=t2 ext=J1
at 2    W1 verify t2 failed ext=J1 then=begun       -> wait backoff state=NOT_FOUND
at 3    W1 claim begin                              -> execute token=t3 attempt=2 begun
# A redelivered webhook under a live holder.
at 4    HOOK observe failed ext=J1                  -> held W1 state=SENT
at 4    HOOK observe failed attempt=1               -> held W1 state=SENT
at 8    W2 claim                                    -> verify token=t4 state=UNKNOWN undisproved=2
at 9    W2 verify t4 failed ext=J1 then=begun       -> wait settle_window state=UNKNOWN
# Quiet: lease end 8 + send timeout 1 + effect deadline 60 + clock step 1.
at 70   W2 claim                                    -> verify token=t5
at 70   W2 verify t5 failed attempt=1 then=begun    -> wait verify_backoff state=UNKNOWN
state UNKNOWN undisproved=2 attempts=2
at 99   W2 claim                                    -> verify token=t6
# The word about attempt 2 itself counts.
at 99   W2 verify t6 failed attempt=2 then=grant    -> wait backoff state=NOT_FOUND
