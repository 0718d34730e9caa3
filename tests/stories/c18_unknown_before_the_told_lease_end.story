# C18 UNKNOWN, not ended, is reported at once, while another thread may still send: quiet counts from the told lease end
contract serialized settle=10 lease=30 send_timeout=5
action plain
action renewed
action overtaken

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

# Also where the grant was renewed, never began, was given up, and another one holds the next.
at 0    W1 claim on=overtaken                   -> execute token=u1 !begun
at 20   W1 renew u1 on=overtaken                -> renewed expires_at=50
at 21   W1 report u1 not_sent on=overtaken      -> wait backoff
at 22   W2 claim on=overtaken                   -> execute token=u2 !begun
at 23   W1 report u1 unknown on=overtaken       -> claimable verify state=UNKNOWN
at 24   W2 claim on=overtaken                   -> verify token=u3 absence_from=66
