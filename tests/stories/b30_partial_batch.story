# B30 partial batch repeated (openregister #3876): blocked with the missing fact; a person resolves or reopens
contract serialized settle=0 lease=5 send_timeout=1
action mended facts=first,second
action reopened facts=first,second

at 0    W1 claim begin                          -> execute token=t1
at 1    W1 report t1 unknown ended              -> claimable verify
at 2    W1 claim                                -> verify token=t2
at 2    W1 verify t2 partial facts=first:true,second:false detail="row 2 is missing" then=begun
                                                -> blocked PARTIAL detail~second state=PARTIAL
at 3    W2 claim begin                          -> blocked PARTIAL !safe
at 9    OP resolve confirmed note="added row 2 by hand" -> settled CONFIRMED basis=DECISION note="added row 2 by hand"
at 10   W2 claim begin                          -> settled CONFIRMED

at 0    W1 claim begin on=reopened              -> execute token=s1
at 1    W1 report s1 unknown ended on=reopened  -> claimable verify
at 2    W1 claim on=reopened                    -> verify token=s2
at 2    W1 verify s2 partial facts=first:true,second:false on=reopened -> blocked PARTIAL
# Irreversible: an operator's word alone opens nothing.
at 9    OP reopen on=reopened                   -> error INVALID_FIELD field=proof_reference
at 9    OP reopen proof="ticket 7: row 1 undone" on=reopened -> claimable verify state=UNKNOWN
# What was seen before speaks no longer; the attempt stays undisproved until a lookup says otherwise.
at 10   W2 claim begin on=reopened              -> verify token=s3 token>s2 undisproved=1
at 10   W2 verify s3 not_found facts=first:false,second:false then=begun on=reopened
                                                -> execute token=s4 attempt=2 begun missing=-
