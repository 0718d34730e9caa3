# A15 odd text: recorded as it is, inert everywhere
contract at_most_once lease=5 attempts=1
action typo     id="tepm mail com"
action sql      id="'; DROP TABLE actions; --" tool="'; DROP TABLE events; --" label_run="' OR 1=1"
action markup   id="<script>alert(1)</script>" label_step="{{ 7*7 }} ${HOME} %s"
action turned   id="a\u{200f}b\u{202e}c"
action template id="{{ id }}/%00/../\\" description="line one\n\tline two"
action null     id=null

at 0    W1 claim begin on=typo          -> execute token=t1
at 1    W1 report t1 completed ext="'); DELETE FROM external_ids; --" result="<b>\u{202e}" on=typo
                                        -> settled CONFIRMED ext="'); DELETE FROM external_ids; --" result="<b>\u{202e}"
at 2    W1 claim begin on=sql           -> execute token=t2
at 3    W1 report t2 not_applied why="'; DROP TABLE actions; -- {} $1 %s" on=sql
                                        -> blocked ATTEMPTS_EXHAUSTED detail~"'; DROP TABLE actions; -- {} $1 %s"
state PLANNED on=sql labels="run:' OR 1=1"
at 4    W1 claim begin on=markup        -> execute token=t3
at 4    W2 claim on=markup              -> held W1
at 5    W1 report t3 rejected why="<script>\u{200f}" on=markup -> settled REJECTED note="<script>\u{200f}"
state REJECTED on=markup labels="step:{{ 7*7 }} ${HOME} %s"
at 6    "W'1\"" claim begin on=turned   -> execute token=t4
at 6    W2 claim on=turned              -> held "W'1\""
at 7    W1 plan on=template             -> claimable execute
at 8    W1 plan on=null                 -> claimable execute
