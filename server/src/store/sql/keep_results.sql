SELECT deed_keep_results($1, $2, $3, $4)
