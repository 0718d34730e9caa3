//! The program `deed-server` as people run it: a process, a Postgres, calls over the wire, signals.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; clippy sees only #[test] functions as such"
)]

mod database;
mod dev;
mod doors;
mod drain;
mod pooler;
mod process;
mod refusals;
mod rows;
mod worker;
