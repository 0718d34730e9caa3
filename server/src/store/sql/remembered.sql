-- What history remembers of the request ids and tokens. In a snapshot of its own, taken after the locks are held; beats:
-- a repeat that waited for the first call's lock does not see what the first call did.
SELECT * FROM deed_remembered($1, $2, $3, $4)
