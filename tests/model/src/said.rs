//! What is said to Deed, small enough to be part of a moment. [`words`](super::words) makes commands of it.

use super::receiver::{Outcome, Sees};
use super::setting::Word;

/// Who speaks besides the workers, who are 0 and 1.
pub const OPERATOR: u8 = 2;
/// A webhook.
pub const WITNESS: u8 = 3;
/// Whoever tries to lead an action to its end.
pub const PATIENT: u8 = 4;

/// One call. Repeats say the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Said {
    /// Take the lease.
    Claim {
        /// And pass the gate.
        begin: bool,
    },
    /// Pass the gate.
    Begin(u64),
    /// Keep the lease.
    Renew(u64),
    /// Give it back.
    Release(u64),
    /// How the send under this token ended.
    Report(u64, Told, bool),
    /// What the lookup under this token saw.
    Verify(u64, Sees, bool),
    /// What somebody without a lease saw.
    Observe(Sees),
    /// An operator's word about the row of this version.
    Decide(Word, u64),
}

/// A receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    /// What the receiver answered.
    Heard(Outcome),
    /// The receiver refused for good.
    Refused,
    /// Nothing left the process.
    NotSent,
    /// It may have happened, and another thread may still send.
    Perhaps,
    /// It may have happened; the send is over.
    Unheard,
}
