//! The gRPC edge: wire messages to commands, replies to messages.
//!
//! It owns the one parser of what strangers send, the one error table, deadlines and limits on the wire. It decides
//! nothing about actions and remembers nothing: commands go to a [`Judge`](crate::service::Judge), questions to a [`Ledger`](crate::service::ledger::Ledger). Nobody outside
//! this module sees tonic or the generated types.

mod batch;
mod clock;
mod door;
mod edge;
mod envelope;
mod error;
mod ledger;
mod listen;
mod operations;
mod ownership;
mod parse;
mod serve;
mod session;
mod tell;
mod wait;
mod worker;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use clock::{DEFAULT_DEADLINE, MAX_DEADLINE};
pub use edge::Edge;
pub use listen::Listener;
pub use serve::{ServeError, serve};

/// 8 MiB: larger than any valid message, so that the parser can name the field that is too long; small enough that a
/// thousand at once fit into memory.
pub const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
