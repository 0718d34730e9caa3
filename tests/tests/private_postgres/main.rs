//! The private Postgres that `dev` and the tests stand on: its life, and what a hard death of its parent leaves.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod cluster;
mod help;
mod keeper;
mod standby;
