# A12 right effect, wrong place: a declared fact is false, so it is never confirmed; a person is needed
contract serialized settle=5 lease=5 send_timeout=1
action a facts=ticket_exists,in_project_x

at 0    W1 claim begin                  -> execute token=t1 begun
at 1    W1 report t1 unknown ended      -> claimable verify
at 2    W2 claim                        -> verify token=t2 facts=ticket_exists,in_project_x absence_from=7
# The verdict that its own facts contradict is the caller's mistake; nothing changes, the grant lives on.
at 2    W2 verify t2 confirmed ext=T9 facts=ticket_exists:true,in_project_x:false
                                        -> error INVALID_FIELD code=INVALID_ARGUMENT
# What was not looked at is unknown, and no ground for CONFIRMED.
at 2    W2 verify t2 confirmed ext=T9 facts=ticket_exists:true
                                        -> error INVALID_FIELD
# A false fact is an absence: before the quiet time it decides nothing.
at 2.5  W2 verify t2 partial facts=ticket_exists:true,in_project_x:false
                                        -> wait settle_window state=UNKNOWN
at 7    W2 claim                        -> verify token=t3
at 7.5  W2 verify t3 partial facts=ticket_exists:true,in_project_x:false then=begun
                                        -> blocked PARTIAL state=PARTIAL detail~in_project_x
at 8    W1 claim begin                  -> blocked PARTIAL !safe

history granted@t1 reported@t1 granted@t2 observed@t2 granted@t3 observed@t3
