SELECT * FROM deed_proven($1, $2, $3, $4)
