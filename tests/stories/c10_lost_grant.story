# C10 an asynchronous failover loses a grant, its holder reports: kept, the token floor rises, doubt or proof follows
contract serialized settle=10 lease=5 send_timeout=1
action forgotten
action rival
action doubtful
action unbegun

# The whole action was lost: the report brings the claim's specification.
at 10   W1 report clock:8 completed ext=A                -> error ACTION_NOT_FOUND
at 10   W1 report clock:8 completed ext=A specified      -> settled CONFIRMED ext=A
state CONFIRMED attempts=1

# Another one has begun meanwhile, on a primary that never knew the first grant.
at 10   W2 claim begin on=rival                          -> execute token=t1 attempt=1 begun
at 11   W1 report clock:10.5 completed ext=B on=rival    -> settled CONFIRMED ext=B flags=DUPLICATE_SUSPECTED
at 12   W2 renew t1 on=rival                             -> settled CONFIRMED
at 12   W2 report t1 completed ext=C on=rival            -> settled CONFIRMED ext=B flags=DUPLICATE_SUSPECTED

# Doubt: nobody begins on top of it unverified, and the next token outgrows the lost one.
at 10   W1 report clock:30 unknown on=doubtful specified -> claimable verify state=UNKNOWN
at 11   W2 claim begin on=doubtful                       -> verify token=d2 token>1800000030000 undisproved=1
# A lookup granted before the quiet time: report 10 + lease 5 + send timeout 1 + settle 10 + clock step 1.
at 12   W2 verify d2 not_found on=doubtful               -> wait settle_window due_at=27

# A grant that has not begun is fenced by it.
at 20   W2 claim on=unbegun                              -> execute token=u1 !begun
at 21   W1 report clock:20.5 unknown on=unbegun          -> claimable verify state=UNKNOWN
at 21   W2 begin u1 on=unbegun                           -> claimable verify !safe

# No failover explains a token from the far future.
at 30   W1 report clock:91 completed on=unbegun          -> error TOKEN_NEVER_ISSUED code=INVALID_ARGUMENT
