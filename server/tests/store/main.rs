//! The store against a real Postgres: what two halves of a transaction promise, and what the schema refuses.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod faulty;
mod fixture;
mod lists;
mod load;
mod migrations;
mod plans;
mod races;
mod random;
mod refused;
mod round_trip;
mod schema;
mod standby;
mod walk;
