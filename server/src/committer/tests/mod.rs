//! The committer against a store in memory: batches, stuck rows, faults, queues.

mod batches;
mod fake;
mod faults;
mod help;
mod queues;
mod stuck;
