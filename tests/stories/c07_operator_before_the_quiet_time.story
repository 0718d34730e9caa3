# C7 an operator sees nothing and resolves `absent` while a send is under way: refused until the quiet time
contract at_most_once lease=10 send_timeout=5

at 0    W1 claim begin                              -> execute token=t1 begun
at 3    OP resolve absent proof="ledger of the bank" -> error DECISION_NOT_ALLOWED code=FAILED_PRECONDITION due_at=16
at 3    OP reopen proof="ledger of the bank"        -> error DECISION_NOT_ALLOWED
# Lapsed, but a send that began late may still be under way: 10 + 5 + 1.
at 12   W2 claim begin                              -> blocked UNVERIFIABLE state=UNKNOWN
at 12   OP resolve absent proof="ledger of the bank" -> error DECISION_NOT_ALLOWED due_at=16
at 15.9 OP resolve absent proof="ledger of the bank" -> error DECISION_NOT_ALLOWED due_at=16
# Irreversible: with a written reference to the proof only.
at 16   OP resolve absent                           -> error INVALID_FIELD field=proof_reference
at 16   OP resolve absent proof="ledger of the bank" -> claimable execute state=NOT_FOUND
at 17   W2 claim begin                              -> execute token=t2 token>t1 attempt=2 begun
at 18   W2 report t2 completed                      -> settled CONFIRMED flags=-
