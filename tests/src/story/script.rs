//! What a script says, as data.

use deed_core::action::Flag;
use deed_core::command::Then;
use deed_core::contract::Terms;
use deed_core::evidence::{Observation, Receipt};
use deed_core::time::Span;
use uuid::Uuid;

/// A whole script.
#[derive(Clone, Debug)]
pub struct Story {
    /// Its name: the namespace of its actions, unless they say otherwise.
    pub name: String,
    /// Its first comment.
    pub title: String,
    /// In the order of the script.
    pub lines: Vec<Line>,
}

/// One line of it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where it stands, from 1.
    pub number: usize,
    /// As it was written.
    pub text: String,
    /// What it says.
    pub says: Says,
}

/// What a line says.
#[derive(Clone, Debug)]
pub enum Says {
    /// A call and its answer.
    Step(Box<Step>),
    /// From here on the database's time moves by this much during every commit, after the time of judgement was read: the
    /// standby is slow.
    CommitsTake(Span),
    /// How a screen shows the action.
    State {
        /// The action.
        action: ActionScript,
        /// What must be shown.
        expect: Vec<Expectation>,
    },
    /// What the history must be.
    History {
        /// The action.
        action: ActionScript,
        /// Its events in order.
        words: Vec<HistoryWord>,
    },
    /// The action must not exist.
    Nothing {
        /// The action.
        action: ActionScript,
    },
}

/// An action's key and what its claims say of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionScript {
    /// The tenant.
    pub namespace: String,
    /// The action within it.
    pub id: String,
    /// The capability.
    pub tool: String,
    /// Hashed to the input hash.
    pub input: String,
    /// For people.
    pub description: String,
    /// What a lookup must observe.
    pub facts: Vec<String>,
    /// Links for people.
    pub labels: Vec<(String, String)>,
    /// What the receiver can and cannot do; may contradict itself.
    pub terms: Terms,
}

/// One call with its time and its answer.
#[derive(Clone, Debug)]
pub struct Step {
    /// From the beginning of the story.
    pub at: Span,
    /// Who calls.
    pub who: String,
    /// About which action.
    pub action: ActionScript,
    /// The same for every repeat.
    pub request: Uuid,
    /// The call.
    pub verb: Verb,
    /// What the answer must be.
    pub expect: Vec<Expectation>,
}

/// The calls.
#[derive(Clone, Debug)]
pub enum Verb {
    /// See the protocol.
    Plan,
    /// See the protocol.
    Claim {
        /// And pass the gate.
        begin: bool,
    },
    /// See the protocol.
    Begin(TokenName),
    /// See the protocol.
    Report {
        /// Of the grant.
        token: TokenName,
        /// The evidence.
        receipt: Receipt,
        /// What next.
        then: Then,
        /// With the claim's specification.
        specified: bool,
    },
    /// See the protocol.
    Verify {
        /// Of the grant.
        token: TokenName,
        /// The evidence.
        observation: Observation,
        /// What next.
        then: Then,
    },
    /// See the protocol.
    Renew(TokenName),
    /// See the protocol.
    Release(TokenName),
    /// See the protocol.
    Observe {
        /// The evidence.
        observation: Observation,
        /// By external id.
        via: Option<String>,
    },
    /// An operator's word.
    Decide {
        /// The version that an earlier answer told; the present one, if absent.
        version: Option<String>,
        /// For the history.
        note: String,
        /// What.
        decision: Decided,
    },
}

/// An operator's decisions.
#[derive(Clone, Debug)]
pub enum Decided {
    /// See the protocol.
    Approve,
    /// See the protocol.
    Deny,
    /// See the protocol.
    Assign(String),
    /// See the protocol.
    Resolve {
        /// What.
        resolution: Resolution,
        /// Where the proof is.
        proof: String,
    },
    /// See the protocol.
    Reopen {
        /// Under a new outward key.
        new_key: bool,
        /// Where the proof is.
        proof: String,
    },
    /// See the protocol.
    Acknowledge(Flag),
}

/// What happened, by an operator's word.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// The effect exists, perhaps under this external id.
    Confirmed(Option<String>),
    /// It does not.
    Absent,
    /// It was refused.
    Rejected,
    /// This action undid it.
    Compensated(String),
    /// Closed for good.
    Abandoned,
}

/// How a script names a token.
#[derive(Clone, Debug)]
pub enum TokenName {
    /// One that an earlier answer gave.
    Given(String),
    /// One that a grant at this time would have, if it were the first.
    Clock(Span),
    /// The number itself.
    Number(u64),
}

/// What one field of an answer must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Its name.
    pub field: &'static str,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what: as rendered, or a name that the story gives.
    pub value: String,
}

/// How a field is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same.
    Equal,
    /// It has this in it.
    Contains,
    /// A number above it.
    Above,
}

/// One word of an expected history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryWord {
    /// Whatever happened, or nothing.
    Anything,
    /// One event.
    Event {
        /// Its kind.
        kind: String,
        /// The token that it speaks of.
        token: Option<String>,
    },
}
