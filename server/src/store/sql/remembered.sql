SELECT * FROM deed_remembered($1, $2, $3, $4, $5)
