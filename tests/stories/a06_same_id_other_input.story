# A6 same id, other input: refused, and nothing of the first action is disclosed
contract deduplicated window=24h
action first id=order-1 input=100EUR
action second id=order-1 input=999EUR
action other id=order-1 input=100EUR tool=another_tool

at 0    W1 claim begin                  -> execute token=t1 begun
at 1    W2 claim begin on=second        -> error INPUT_MISMATCH code=ALREADY_EXISTS ext=- state=- version=- token=-
at 1    W2 plan on=second               -> error INPUT_MISMATCH code=ALREADY_EXISTS
at 1    W2 claim on=other               -> error INPUT_MISMATCH state=- version=-
at 2    W1 report t1 completed ext=X    -> settled CONFIRMED
at 3    W2 claim begin on=second        -> error INPUT_MISMATCH ext=- result=- state=- effect=-

history granted@t1 reported@t1
