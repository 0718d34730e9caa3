# B29 early absence (terraform-microsoft365 PR #3316): a lookup before the quiet time proves no absence
contract serialized settle=30 lease=5 send_timeout=1 backoff=1

at 0    W1 claim begin                          -> execute token=t1 attempt=1 begun
# Quiet: lease end 5 + send timeout 1 + settle window 30 + clock step 1.
at 6    W2 claim                                -> verify token=t2 absence_from=37 state=UNKNOWN
at 6    W2 verify t2 not_found then=begun       -> wait settle_window retry_after=31s state=UNKNOWN
at 7    W1 claim begin                          -> wait settle_window retry_after=30s
at 36.9 W3 claim begin                          -> wait settle_window
at 37   W2 claim                                -> verify token=t3 token>t2
at 37.1 W2 verify t3 not_found then=begun       -> execute token=t4 token>t3 attempt=2 begun !resend state=SENT safe
# One absence, one attempt: nobody else gets in between.
at 37.1 W3 claim begin                          -> held W2
at 38   W2 report t4 completed ext=X            -> settled CONFIRMED ext=X

state CONFIRMED attempts=2 counted=2 inconclusive=0 flags=-
history granted@t1 lapsed@t1 granted@t2 observed@t2 granted@t3 observed@t3 granted@t4 reported@t4
