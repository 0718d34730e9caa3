# C18 UNKNOWN, not ended, is reported at once, while another thread may still send: quiet counts from the told lease end
contract serialized settle=10 lease=30 send_timeout=5
action plain
action renewed

at 0    W1 claim begin                          -> execute token=t1 expires_at=30
at 1    W1 report t1 unknown                    -> claimable verify state=UNKNOWN
at 2    W2 claim                                -> verify token=t2 absence_from=46
at 2    W2 verify t2 not_found then=begun       -> wait settle_window due_at=46

at 0    W1 claim begin on=renewed               -> execute token=s1
at 20   W1 renew s1 on=renewed                  -> renewed expires_at=50
at 21   W1 release s1 on=renewed                -> claimable verify state=UNKNOWN
at 22   W2 claim on=renewed                     -> verify token=s2 absence_from=66
# The holder learns that the call has returned.
at 23   W1 report s1 unknown ended on=renewed   -> held W2
at 24   W2 verify s2 not_found on=renewed       -> wait settle_window due_at=34
