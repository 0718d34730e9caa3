SELECT now, place, (action).* FROM deed_lock($1, $2)
