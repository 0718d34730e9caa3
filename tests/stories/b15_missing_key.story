# B15 missing key shared (powertools-ts #1501): an empty key is refused by its name and leaves no row; `null` is a key
contract at_most_once
action empty id=""
action blank id="  \t"
action spaced id=" order-1"
action nobody namespace=""
action null id=null

at 0    W1 claim on=empty       -> error INVALID_FIELD code=INVALID_ARGUMENT field=key.action_id
at 0    W1 claim on=blank       -> error INVALID_FIELD field=key.action_id
at 0    W1 claim on=spaced      -> error INVALID_FIELD field=key.action_id
at 0    W1 claim on=nobody      -> error INVALID_FIELD field=key.namespace
at 0    "" claim on=null        -> error INVALID_FIELD field=owner
nothing on=null
at 1    W1 claim begin on=null  -> execute token=t1
at 1    W2 claim begin on=null  -> held W1
