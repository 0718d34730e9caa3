# A9 asynchronous: never confirmed on acceptance; confirmed by the lookup
contract serialized async settle=10 deadline=600 lease=5

at 0    W1 claim begin                                  -> execute token=t1 begun
at 1    W1 report t1 accepted ext=J1 retry_after=20     -> wait pending retry_after=20s state=ACCEPTED
at 20   W2 claim                                        -> wait pending
at 21   W2 claim begin                                  -> verify token=t2 ext=J1 absence_from=612
at 22   W2 verify t2 confirmed ext=J1                   -> settled CONFIRMED basis=OBSERVATION ext=J1
# COMPLETED is no proof either where the receiver answers before the effect.
action b
at 30   W1 claim begin on=b                             -> execute token=t3 begun
at 31   W1 report t3 completed ext=J2 on=b              -> claimable verify state=ACCEPTED
at 31   W1 claim on=b                                   -> verify token=t4 ext=J2
at 32   W1 verify t4 confirmed ext=J2 on=b              -> settled CONFIRMED basis=OBSERVATION
