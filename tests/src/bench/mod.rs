//! The load generator: what one Postgres does by hand, at its limit and with Deed in front, measured side by side in one
//! run.
//!
//! An *action* here is what a worker does for one: claim with begin, then report completed. Both are durable before they
//! are answered, and each leaves one row of history.
//!
//! Every cell runs on an empty database of its own, just after a checkpoint, on one private Postgres whose settings are the
//! same for all. When its load is over, the database is asked how many actions it knows as confirmed: a load that lost
//! or skipped work fails the run.
//!
//! It judges nothing but that and the goals; what to do about a miss is for people.

pub mod cast;
pub mod course;
pub mod goals;
pub mod growth;
pub mod hand;
pub mod idle;
pub mod kept;
pub mod limit;
pub mod measure;
pub mod meter;
pub mod page;
pub mod performing;
pub mod plan;
pub mod plot;
pub mod redis;
pub mod renewals;
pub mod results;
pub mod run;
pub mod seed;
pub mod soak;
pub mod stage;
pub mod statements;
pub mod stream;
pub mod table;
pub mod unary;
pub mod work;
pub mod xmin;
