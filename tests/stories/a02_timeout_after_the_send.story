# A2 timeout after the send: looked up before any retry, settled without a second effect
contract serialized settle=10 lease=5 send_timeout=2

at 0    W1 claim begin                          -> execute token=t1 attempt=1 begun
at 2    W1 report t1 unknown ended why=timeout  -> claimable verify state=UNKNOWN !safe
at 2    W2 claim begin                          -> verify token=t2 token>t1 attempts=1 first_sent_at=0 absence_from=13 !safe
at 2.5  W2 verify t2 confirmed ext=X result=ok  -> settled CONFIRMED basis=OBSERVATION ext=X result=ok
at 3    W1 claim begin                          -> settled CONFIRMED ext=X result=ok

state CONFIRMED attempts=1 flags=-
history granted@t1 reported@t1 granted@t2 observed@t2
