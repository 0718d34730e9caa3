# B26 late older event overwrites (mirakl-hyperwallet #35): CONFIRMED stays, all of it is in the history
contract serialized settle=0 lease=5 send_timeout=1

at 0    W1 claim begin                          -> execute token=t1 begun
at 6    W2 claim                                -> verify token=t2
at 6    W2 verify t2 confirmed ext=X result=r req=proof -> settled CONFIRMED
at 7    W2 verify t2 not_found then=begun       -> settled CONFIRMED effect=proof ext=X result=r
at 8    W2 verify t2 unknown why=late           -> settled CONFIRMED effect=proof note=-
at 9    W1 report t1 rejected why=late          -> settled CONFIRMED effect=proof note=-
at 9    W1 report t1 unknown                    -> settled CONFIRMED effect=proof
at 9    HOOK observe failed ext=X               -> settled CONFIRMED effect=proof
at 9    HOOK observe pending                    -> settled CONFIRMED effect=proof settled_at=6
state CONFIRMED ext=X effect=proof since=6 flags=-
history granted@t1 lapsed@t1 granted@t2 observed@t2 observed@t2 observed@t2 reported@t1 reported@t1 observed observed
