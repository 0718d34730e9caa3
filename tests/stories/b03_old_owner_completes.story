# B03 old owner completes (bull #308): the late REJECTED stays evidence, the action stays CONFIRMED
contract serialized settle=0 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1 begun
at 6    W2 claim begin                          -> verify token=t2
at 6    W2 verify t2 confirmed ext=X req=proof  -> settled CONFIRMED
at 7    W1 report t1 rejected why="no such customer" then=begun
                                                -> settled CONFIRMED ext=X effect=proof note=- !safe
state CONFIRMED ext=X effect=proof flags=-
history granted@t1 lapsed@t1 granted@t2 observed@t2 reported@t1
