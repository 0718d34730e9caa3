# A7 immediate success: settled; a repeat gets the same external id and result
contract deduplicated window=24h

at 0    W1 claim begin                                   -> execute token=t1 begun version=v1
at 1    W1 report t1 completed ext=inv-1 result="{\"n\":1}" req=r1
                                                         -> settled CONFIRMED ext=inv-1 result="{\"n\":1}" effect=r1 outcome=EFFECT_PROVEN settled_at=1
at 9    W1 claim begin                                   -> settled CONFIRMED ext=inv-1 result="{\"n\":1}" effect=r1 settled_at=1 version>v1
at 400h W7 claim begin                                   -> settled CONFIRMED ext=inv-1 result="{\"n\":1}" effect=r1

state CONFIRMED attempts=1 since=1
history granted@t1 reported@t1
