# C9 the answer of a claim is lost; its repeat comes after the lapse, or after somebody else's grant: no grant at all
contract serialized settle=10 lease=5 send_timeout=1
action unbegun
action begun

at 0    W1 claim req=r1                 -> execute token=t1 !begun
at 5    W1 claim req=r1                 -> claimable execute token=- !safe
at 7    W2 claim                        -> execute token=t2 token>t1
at 8    W1 claim req=r1                 -> held W2 token=-
at 9    W1 begin t1                     -> held W2
at 13   W1 claim req=r1                 -> claimable execute
at 13   W1 claim                        -> execute token=t3 token>t2

at 0    W1 claim begin req=r2 on=begun  -> execute token=s1 begun
at 5    W1 claim begin req=r2 on=begun  -> claimable verify token=- !safe state=UNKNOWN
at 6    W2 claim on=begun               -> verify token=s2
at 7    W1 claim begin req=r2 on=begun  -> held W2 token=-
state UNKNOWN on=begun attempts=1 undisproved=1
