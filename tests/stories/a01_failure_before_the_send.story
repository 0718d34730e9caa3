# A1 failure before the send: no effect, so the same action is executed again under the next token
contract at_most_once lease=5

# W1 is gone before begin: the lapse is nothing.
at 0    W1 claim                        -> execute token=t1 attempt=1 !begun state=PLANNED
at 4    W2 claim                        -> held W1 lease_left=1s
at 5    W2 claim                        -> execute token=t2 token>t1 attempt=1 !begun !resend
# W2 has begun, but can prove that nothing left.
at 6    W2 begin t2                     -> execute token=t2 attempt=1 begun state=SENT
at 6    W2 report t2 not_sent why=refused -> wait backoff retry_after=1s state=PLANNED
at 6.5  W3 claim                        -> wait backoff retry_after=500ms
at 7    W3 claim begin                  -> execute token=t3 token>t2 attempt=2 begun
at 8    W3 report t3 completed ext=X    -> settled CONFIRMED ext=X
# W1 wakes up: its token begins nothing.
at 9    W1 begin t1                     -> settled CONFIRMED !safe

state CONFIRMED attempts=2 counted=1 ext=X flags=-
history granted@t1 lapsed@t1 granted@t2 begun@t2 reported@t2 granted@t3 reported@t3
