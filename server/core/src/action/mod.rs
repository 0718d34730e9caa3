//! The action: what the row holds. Fields only; the rules that change them are in `decide`.

mod closing;
mod grant;
mod state;

pub use closing::{Basis, Closure, Effect, Flag, Flags};
pub use grant::{Attempt, Ended, Grant, GrantKind, Word};
pub use state::{Approval, Doubt, State, Stop};

use crate::contract::{ApprovalNeed, Terms};
use crate::id::{ActionKey, OutwardKey, Token, Version};
use crate::spec::Specification;
use crate::text::{ExternalId, FactName, Note, Owner};
use crate::time::Timestamp;

/// When the next lookup makes sense, and why not before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextLookup {
    /// Not before this.
    pub not_before: Timestamp,
    /// The receiver said that the work is under way; else it is the backoff.
    pub pending: bool,
}

/// The lookups since the last begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lookups {
    /// Inconclusive ones.
    pub inconclusive: u32,
    /// All that were granted over the action's life.
    pub granted: u32,
    /// The one that is allowed before the quiet time has been granted.
    pub early_spent: bool,
    /// When the last one was recorded.
    pub last_at: Option<Timestamp>,
    /// When the next one makes sense.
    pub next: Option<NextLookup>,
}

/// Everything the protocol remembers of one action. What tokens and requests of the past did is in its history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Its identity.
    pub key: ActionKey,
    /// What it is.
    pub spec: Specification,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// What is known.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
    /// Why it is `UNKNOWN`; kept for the history's sake until the next doubt.
    pub doubt: Option<Doubt>,
    /// For people: the reason in the words of whoever reported it.
    pub reason: Note,
    /// The row's guard.
    pub version: Version,
    /// Number of its last event.
    pub sequence: u32,
    /// Its highest token.
    pub token: Token,
    /// Whether a person has to approve.
    pub approval: Approval,
    /// The budget runs from here: creation, or approval.
    pub budget_from: Timestamp,
    /// The grant of the current token.
    pub grant: Option<Grant>,
    /// Number of the last attempt.
    pub attempts: u32,
    /// Attempts that count against `max_attempts`.
    pub attempts_counted: u32,
    /// Executions that did not succeed yet, for the backoff.
    pub setbacks: u32,
    /// An operator allowed one more attempt beyond the limits.
    pub allowance: bool,
    /// Attempts that may have left an effect.
    pub undisproved: Vec<Attempt>,
    /// Raised only by an operator's `Reopen{new_key}`.
    pub key_generation: u32,
    /// First begin under the present key generation.
    pub first_sent_at: Option<Timestamp>,
    /// Last begin.
    pub last_sent_at: Option<Timestamp>,
    /// No execution before this.
    pub execute_after: Option<Timestamp>,
    /// The lookups.
    pub lookups: Lookups,
    /// Declared facts that some lookup saw true, and that nothing has retired.
    pub facts_true: Vec<FactName>,
    /// Declared facts that the last partial lookup missed.
    pub facts_missing: Vec<FactName>,
    /// The one execution of what was missing has been spent.
    pub resumed: bool,
    /// An absence counted since the last begin.
    pub absence_counted: bool,
    /// A stop that lasts.
    pub stop: Option<Stop>,
    /// What the receiver calls the effect.
    pub external_id: Option<ExternalId>,
    /// What decided.
    pub effect: Option<Effect>,
    /// Stored with the deciding evidence.
    pub result: Option<Vec<u8>>,
    /// How it was closed without proof.
    pub closure: Option<Closure>,
    /// Marks for people.
    pub flags: Flags,
    /// Who reconciles it.
    pub assignee: Option<Owner>,
}

impl Action {
    /// A new row: nothing known, nothing granted.
    pub fn new(key: ActionKey, spec: Specification, now: Timestamp) -> Self {
        let required = spec.contract.approval == ApprovalNeed::Required;
        let expires_at = now.plus(Terms::APPROVAL_EXPIRES);
        Self {
            key,
            spec,
            created_at: now,
            state: if required {
                State::AwaitingApproval
            } else {
                State::Planned
            },
            since: now,
            doubt: None,
            reason: Note::none(),
            version: Version(0),
            sequence: 0,
            token: Token::after(None, now),
            approval: if required {
                Approval::Pending { expires_at }
            } else {
                Approval::NotRequired
            },
            budget_from: now,
            grant: None,
            attempts: 0,
            attempts_counted: 0,
            setbacks: 0,
            allowance: false,
            undisproved: Vec::new(),
            key_generation: 0,
            first_sent_at: None,
            last_sent_at: None,
            execute_after: None,
            lookups: Lookups::default(),
            facts_true: Vec::new(),
            facts_missing: Vec::new(),
            resumed: false,
            absence_counted: false,
            stop: None,
            external_id: None,
            effect: None,
            result: None,
            closure: None,
            flags: Flags::default(),
            assignee: None,
        }
    }

    /// What the holder hands to the receiver.
    pub fn outward_key(&self) -> OutwardKey {
        OutwardKey::derive(&self.key, self.key_generation)
    }

    /// The grant, if its lease keeps everyone else out.
    pub fn live_grant(&self, now: Timestamp) -> Option<&Grant> {
        self.grant.as_ref().filter(|grant| grant.live(now))
    }

    /// Whether some attempt's `COMPLETED` receipt stands.
    pub fn completed(&self) -> bool {
        self.undisproved
            .iter()
            .any(|attempt| attempt.word == Word::Completed)
    }

    /// Whether nobody may act before a person approves.
    pub fn unapproved(&self) -> bool {
        matches!(self.approval, Approval::Pending { .. })
    }
}
