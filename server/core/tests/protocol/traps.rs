//! Part C: traps of the protocol, each of which once led to a duplicate, a lost fact or a dead end.

mod absence;
mod grants;
mod resends;
