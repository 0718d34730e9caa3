# B42 worker name reused (procrastinate #1518): a new process of the same name gets no more than anybody else
contract serialized settle=10 lease=10

at 0    pod-0 claim                     -> execute token=t1 !begun
# It died; its successor knows no token.
at 1    pod-0 renew none                -> error INVALID_FIELD code=INVALID_ARGUMENT
at 2    pod-0 claim                     -> held pod-0 lease_left=8s
at 10.2 pod-0 claim                     -> execute token=t2 token>t1 attempt=1
history granted@t1 lapsed@t1 granted@t2
