SELECT now, place, (action).* FROM deed_lock_free($1, $2)
