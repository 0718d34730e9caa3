# B27 late result thrown away (temporal sdk-rust #470): kept, and it settles the action
contract serialized settle=0 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1 begun
at 6    W2 claim begin                          -> verify token=t2 token>t1 state=UNKNOWN
at 6.5  W2 verify t2 unknown why="search is down" -> wait verify_backoff state=UNKNOWN
at 7    W1 report t1 completed ext=X then=begun -> settled CONFIRMED ext=X basis=RECEIPT
at 8    W2 claim begin                          -> settled CONFIRMED ext=X

state CONFIRMED attempts=1 flags=-
history granted@t1 lapsed@t1 granted@t2 observed@t2 reported@t1
