# B24 same instant, same worker (crewAI #3489): one owner, 50 claims with different request ids, exactly one grant
contract serialized settle=10 lease=30

at 0    W1 claim begin                          -> execute token=t1 attempt=1
from 0.001 to 0.049 every 1ms W1 claim begin    -> held W1
state SENT attempts=1
history granted@t1
