SELECT deed_register($1, $2, $3, $4)
