# A3 delayed read: a lookup that misses the effect decides nothing before the settle window has passed
contract serialized settle=10 lease=5 send_timeout=2

at 0    W1 claim begin                          -> execute token=t1 begun
at 1    W1 report t1 unknown ended              -> claimable verify
# The effect is there, but the read lags: quiet at 1 + 10 + 1 (the clock's largest step).
at 2    W1 claim                                -> verify token=t2 absence_from=12
at 3    W1 verify t2 not_found then=begun       -> wait settle_window retry_after=9s state=UNKNOWN
at 11.9 W2 claim begin                          -> wait settle_window retry_after=100ms
at 12   W2 claim begin                          -> verify token=t3 token>t2
at 12.1 W2 verify t3 confirmed ext=X then=begun -> settled CONFIRMED ext=X

state CONFIRMED attempts=1 inconclusive=0 flags=-
history granted@t1 reported@t1 granted@t2 observed@t2 granted@t3 observed@t3
