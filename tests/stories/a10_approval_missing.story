# A10 approval missing: nobody gets to execute; the approval is bound to this input hash, and the request expires
contract at_most_once approval budget=1h
action a input=100EUR
action reworded id=a input=999EUR
action late
action denied

at 0    W1 claim begin req=r1           -> wait approval state=AWAITING_APPROVAL !safe
at 1    W2 claim begin                  -> wait approval
at 2    OP approve on=reworded          -> error INVALID_FIELD field=input_hash code=INVALID_ARGUMENT
at 3    W2 claim begin                  -> wait approval
# Long after creation, so that the budget would be over if it did not start at the approval.
at 2h   OP approve note="seen by two"   -> claimable execute state=PLANNED
# The request that was told to wait has got no grant yet, so its repeat may.
at 2h+1 W1 claim begin req=r1           -> execute token=t1 attempt=1 begun
at 2h+2 W1 report t1 completed          -> settled CONFIRMED

at 3h   OP deny                         -> error DECISION_NOT_ALLOWED code=FAILED_PRECONDITION

at 4h   W1 claim on=denied              -> wait approval
at 5h   OP deny on=denied note=no       -> settled REJECTED outcome=APPROVAL_DENIED note=no
at 5h   W1 claim on=denied              -> settled REJECTED outcome=APPROVAL_DENIED

at 6h   W1 plan on=late                 -> wait approval state=AWAITING_APPROVAL
at 30h  W1 claim begin on=late          -> settled REJECTED outcome=APPROVAL_EXPIRED settled_at=30h effect=-
at 31h  OP approve on=late              -> error DECISION_NOT_ALLOWED

history planned decided granted@t1 reported@t1
history on=denied planned decided
history on=late planned approval_expired
