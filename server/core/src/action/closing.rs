//! What decided, how an action was closed, and the marks that people must see.

use crate::id::EvidenceId;
use crate::text::ActionId;
use crate::time::Timestamp;

/// The evidence that decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Which piece of evidence.
    pub evidence: EvidenceId,
    /// What kind of evidence.
    pub basis: Basis,
    /// The attempt that it speaks of, where it names one.
    pub attempt: Option<u32>,
    /// When it was recorded.
    pub at: Timestamp,
}

/// The kind of evidence that decided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Basis {
    /// An executor's receipt.
    Receipt,
    /// A lookup, or a witness.
    Observation,
    /// An operator's word.
    Decision,
}

/// How an action that left no proven effect was closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Closure {
    /// The receiver refused it.
    Refused,
    /// The approval was denied.
    Denied,
    /// The request for approval expired.
    ApprovalExpired,
    /// An operator resolved it as rejected.
    ResolvedRejected,
    /// An operator closed it; whether the effect exists is unknown.
    Abandoned,
    /// An operator closed it; another action compensated.
    Compensated {
        /// The action that compensated.
        by: ActionId,
    },
}

/// Marks that stay until an operator acknowledges them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags {
    /// The effect may exist twice.
    pub duplicate_suspected: bool,
    /// Something that had been decided was proven wrong, or two actions name one effect.
    pub contradicted: bool,
    /// A send was reported that never passed *begin*.
    pub ungated: bool,
}

/// One of the marks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flag {
    /// See [`Flags::duplicate_suspected`].
    DuplicateSuspected,
    /// See [`Flags::contradicted`].
    Contradicted,
    /// See [`Flags::ungated`].
    Ungated,
}

impl Flags {
    /// Sets or clears one.
    pub fn put(&mut self, flag: Flag, value: bool) {
        match flag {
            Flag::DuplicateSuspected => self.duplicate_suspected = value,
            Flag::Contradicted => self.contradicted = value,
            Flag::Ungated => self.ungated = value,
        }
    }

    /// Those that are set.
    pub fn set(self) -> impl Iterator<Item = Flag> {
        [
            (self.duplicate_suspected, Flag::DuplicateSuspected),
            (self.contradicted, Flag::Contradicted),
            (self.ungated, Flag::Ungated),
        ]
        .into_iter()
        .filter_map(|(set, flag)| set.then_some(flag))
    }
}
