# C14 a wrong action reports an external id first: the right one is blocked, both are flagged, an operator decides
contract deduplicated window=24h lease=30
action wrong
action right
contract deduplicated window=24h lease=30 object
action update_1
action update_2

at 0    W1 claim begin on=wrong                         -> execute token=t1
at 1    W1 report t1 completed ext=X on=wrong           -> settled CONFIRMED flags=-
at 2    W2 claim begin on=right                         -> execute token=t2
at 3    W2 report t2 completed ext=X then=begun on=right -> blocked CONTRADICTION flags=CONTRADICTED !safe
state CONFIRMED on=wrong flags=CONTRADICTED
history on=wrong granted@t1 reported@t1 contested flagged
at 4    W2 claim begin on=right                         -> blocked CONTRADICTION
at 5    HOOK observe confirmed ext=X on=right           -> blocked CONTRADICTION
at 9    OP resolve confirmed ext=X note="the right one" on=right -> settled CONFIRMED ext=X basis=DECISION
at 9    OP acknowledge contradicted on=wrong            -> settled CONFIRMED flags=-

# Where the id names an object, many actions may name it.
at 0    W1 claim begin on=update_1                      -> execute token=u1
at 1    W1 report u1 completed ext=T on=update_1        -> settled CONFIRMED
at 2    W1 claim begin on=update_2                      -> execute token=u2
at 3    W1 report u2 completed ext=T on=update_2        -> settled CONFIRMED flags=-
