# C19 UNKNOWN is reported without begin, also long after: an undisproved attempt exists, absence must still wait
contract serialized settle=10 lease=5 send_timeout=1
action soon
action long_after
action under_a_lookup

at 0    W1 claim                                -> execute token=t1 !begun
at 1    W1 report t1 unknown then=begun         -> verify token=t2 state=UNKNOWN flags=UNGATED undisproved=1 absence_from=17
at 1    W1 verify t2 not_found then=begun       -> wait settle_window state=UNKNOWN

# Its lease is long over, another one holds the next grant: that one may not begin unverified.
at 0    W1 claim on=long_after                  -> execute token=s1
at 100  W2 claim on=long_after                  -> execute token=s2 !begun
at 101  W1 report s1 unknown on=long_after      -> claimable verify state=UNKNOWN flags=UNGATED
at 101  W2 begin s2 on=long_after               -> claimable verify !safe
at 102  W2 claim begin on=long_after            -> verify token=s3 undisproved=1 absence_from=17
at 102  W2 verify s3 not_found then=begun on=long_after -> execute token=s4 attempt=2 begun

# It becomes known while a lookup is under way that was granted before its quiet time: that lookup's absence is too early.
at 0    W1 claim begin on=under_a_lookup        -> execute token=u1
at 1    W1 report u1 not_sent on=under_a_lookup -> wait backoff
at 2    W2 claim on=under_a_lookup              -> execute token=u2 !begun expires_at=7
at 7    W3 claim begin on=under_a_lookup        -> execute token=u3 attempt=2 begun
at 8    W3 report u3 unknown ended on=under_a_lookup -> claimable verify
at 19   W3 claim on=under_a_lookup              -> verify token=u4 absence_from=19
at 20   W2 report u2 unknown ended on=under_a_lookup -> held W3
# One more early lookup is due to the attempt that became known; it could still confirm.
at 21   W3 verify u4 not_found then=begun on=under_a_lookup -> verify token=u5 absence_from=31 undisproved=2,3 state=UNKNOWN
at 21   W3 verify u5 not_found then=begun on=under_a_lookup -> wait settle_window due_at=31
