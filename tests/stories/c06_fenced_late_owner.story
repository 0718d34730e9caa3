# C6 FENCED: lookups carry higher tokens than the frozen owner's; without a lookup the contract is contradictory
contract fenced settle=5 lease=5 send_timeout=1
action a
contract contradictory fencing
action blind

at 0    W1 claim begin                  -> execute token=t1 begun guarantee=FENCED
at 5    W2 claim                        -> verify token=t2 token>t1 absence_from=12
at 6    W2 verify t2 not_found          -> wait settle_window
at 12   W2 claim                        -> verify token=t3 token>t2
at 12   W2 verify t3 not_found then=begun -> execute token=t4 token>t3 attempt=2 begun
# W1 wakes up: it cannot renew, begin again or report its way back.
at 13   W1 renew t1                     -> held W2
at 13   W1 begin t1                     -> held W2 !safe
at 14   W1 report t1 not_applied why="stale token" -> held W2 state=SENT
at 15   W2 report t4 completed ext=X    -> settled CONFIRMED flags=-

at 0    W1 claim begin on=blind         -> error INVALID_FIELD field=specification.contract.deduplication
nothing on=blind
