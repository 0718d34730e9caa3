# A4 partial effect: blocked, or resumed once where the contract says so
contract serialized settle=0 lease=5 send_timeout=1
action stops facts=row_exists,mail_published

contract serialized class=reversible settle=0 lease=5 send_timeout=1 resume
action resumes facts=row_exists,mail_published

at 0    W1 claim begin                  -> execute token=t1 begun
at 1    W1 report t1 unknown ended      -> claimable verify
at 2    W1 claim                        -> verify token=t2 facts=row_exists,mail_published
at 2    W1 verify t2 partial facts=row_exists:true,mail_published:false then=begun
                                        -> blocked PARTIAL state=PARTIAL detail~mail_published !safe
at 9    W2 claim begin                  -> blocked PARTIAL detail~mail_published
state PARTIAL attempts=1

at 10   W1 claim begin on=resumes       -> execute token=t3 begun missing=-
at 11   W1 report t3 unknown ended on=resumes -> claimable verify
at 12   W1 claim on=resumes             -> verify token=t4
at 12   W1 verify t4 partial facts=row_exists:true,mail_published:false then=begun on=resumes
                                        -> execute token=t5 attempt=2 begun missing=mail_published !resend
# The missing part fails as well: it has been resumed once, now a person is needed.
at 13   W1 report t5 unknown ended on=resumes -> claimable verify
at 14   W1 claim on=resumes             -> verify token=t6
at 14   W1 verify t6 partial facts=row_exists:true,mail_published:false then=begun on=resumes
                                        -> blocked PARTIAL
