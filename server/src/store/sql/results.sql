SELECT * FROM deed_results($1, $2)
