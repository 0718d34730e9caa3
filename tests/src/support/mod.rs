//! What tests stand on. Each file owns one kind of fixture; none of them judges anything, the tests do.

mod cluster;

pub use cluster::{Database, POSTGRES_VARIABLE, database};
