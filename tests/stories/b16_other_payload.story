# B16 other payload gets the first answer (idempotency4j #12): refused every time, without receipt or external id
contract serialized settle=0
action a input=1
action b id=a input=2
action c id=a input=1 tool=refund

# Two first claims at one instant: exactly one grant.
at 0    W1 claim begin on=a             -> execute token=t1
at 0    W2 claim begin on=b             -> error INPUT_MISMATCH code=ALREADY_EXISTS token=- state=- owner=-
at 0    W3 claim begin on=c             -> error INPUT_MISMATCH token=- state=- owner=-
# While held.
at 1    W2 plan on=b                    -> error INPUT_MISMATCH owner=-
at 2    W1 report t1 completed ext=X result=secret -> settled CONFIRMED
# After settling.
at 3    W2 claim on=b                   -> error INPUT_MISMATCH ext=- result=- effect=- version=-
at 3    W3 claim on=c                   -> error INPUT_MISMATCH ext=- result=- effect=- version=-
history granted@t1 reported@t1
