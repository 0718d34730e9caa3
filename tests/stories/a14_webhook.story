# A14 webhook: the receiver tells the effect without any lease; a later report changes nothing; a forged one is refused
contract serialized settle=10 lease=30
action early
action elsewhere id=early namespace=elsewhere

# Before the worker's report.
at 0    W1 claim begin                          -> execute token=t1 begun
at 1    HOOK observe confirmed ext=X on=elsewhere -> error ACTION_NOT_FOUND code=NOT_FOUND
at 1    HOOK observe confirmed ext=X via=X      -> error ACTION_NOT_FOUND
at 1    HOOK observe not_found                  -> error INVALID_FIELD field=observation
at 2    HOOK observe confirmed ext=X req=hook   -> settled CONFIRMED ext=X effect=hook basis=OBSERVATION
at 3    W1 renew t1                             -> settled CONFIRMED
at 3    W1 report t1 completed ext=X            -> settled CONFIRMED effect=hook flags=-
state CONFIRMED ext=X effect=hook attempts=1 flags=-
history granted@t1 observed fenced@t1 reported@t1

# After it, addressed by what the receiver calls it, and delivered twice.
contract serialized async settle=10 deadline=600 lease=30
action late
at 10   W1 claim begin on=late                  -> execute token=t2
at 11   W1 report t2 accepted ext=J1 on=late    -> claimable verify
at 12   HOOK observe pending retry_after=60 via=J1 on=late -> wait pending retry_after=60s
at 20   HOOK observe confirmed ext=J1 via=J1 req=again on=late -> settled CONFIRMED effect=again
at 21   HOOK observe confirmed ext=J1 via=J1 req=again on=late -> settled CONFIRMED effect=again
at 22   HOOK observe failed ext=J1 via=J1 req=again on=late -> error REQUEST_ID_REUSED code=INVALID_ARGUMENT
at 23   HOOK observe failed ext=J1 via=J1 on=late -> settled CONFIRMED effect=again
history on=late granted@t2 reported@t2 observed observed observed
