# C8 one part is applied, the other in flight: before the quiet time a partial lookup decides nothing, nothing resumes
contract serialized class=reversible resume settle=10 lease=5 send_timeout=1
action a facts=first,second

at 0    W1 claim begin                  -> execute token=t1
at 1    W1 report t1 unknown ended      -> claimable verify
at 2    W2 claim                        -> verify token=t2 absence_from=12
at 2    W2 verify t2 partial facts=first:true,second:false then=begun -> wait settle_window state=UNKNOWN !safe
at 5    W3 claim begin                  -> wait settle_window
at 12   W2 claim                        -> verify token=t3
# Now the other part has arrived. What was seen before need not be seen again.
at 12   W2 verify t3 confirmed facts=second:true then=begun -> settled CONFIRMED flags=-
state CONFIRMED attempts=1
