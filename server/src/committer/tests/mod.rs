//! The committer against a store in memory: batches, stuck rows, faults, queues.

mod batches;
pub mod fake;
mod faults;
pub mod help;
mod queues;
mod stuck;
