# C11 a re-send is renewed until the receiver's window: the renewal ends at the margin, and begin is refused there
contract deduplicated window=60 lease=20 send_timeout=5

at 0    W1 claim begin                  -> execute token=t1 begun
# The last byte of a re-send, and its effect, within the window: 60 - send timeout 5 - clock step 1.
at 30   W2 claim                        -> execute token=t2 resend !begun expires_at=50
at 40   W2 renew t2                     -> renewed expires_at=54 lease_left=14s
at 50   W2 renew t2                     -> renewed expires_at=54 lease_left=4s
at 53   W3 claim begin                  -> held W2 lease_left=1s
at 54   W2 renew t2                     -> blocked DEDUPLICATION_WINDOW_PASSED
at 54   W2 begin t2                     -> blocked DEDUPLICATION_WINDOW_PASSED !safe
state UNKNOWN attempts=1 undisproved=1

# Where no useful time is left before the margin there is no grant.
action late
at 0    W1 claim begin on=late          -> execute token=s1
at 53   W2 claim begin on=late          -> execute token=s2 resend begun expires_at=54 lease_left=1s
action later
at 0    W1 claim begin on=later         -> execute token=u1
at 53.5 W2 claim begin on=later         -> blocked DEDUPLICATION_WINDOW_PASSED
