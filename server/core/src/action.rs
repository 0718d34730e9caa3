//! The action: what the row holds. Fields only; the rules that change them are in `decide`.

use crate::id::{ActionKey, Caller, EvidenceId, OutwardKey, RequestId, Token, Version};
use crate::spec::Specification;
use crate::text::{ActionId, ExternalId, FactName, Note, Owner, Principal};
use crate::time::Timestamp;

/// What is known about the effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Recorded; nobody may act before a person approves.
    AwaitingApproval,
    /// Nothing has been sent, or the sender proved that nothing was done.
    Planned,
    /// A holder passed *begin*; the effect may exist.
    Sent,
    /// The receiver took the command; the effect is still to be seen.
    Accepted,
    /// Some of the facts hold and some do not.
    Partial,
    /// It may have happened.
    Unknown,
    /// Absence proven after the last possible send.
    NotFound,
    /// The effect is proven. Final.
    Confirmed,
    /// Refused before any effect. Final, but for an operator and for proof.
    Rejected,
    /// Closed by an operator. Final, but for an operator and for proof.
    Abandoned,
}

impl State {
    /// Every state, in the order of the protocol.
    pub const ALL: [Self; 10] = [
        Self::AwaitingApproval,
        Self::Planned,
        Self::Sent,
        Self::Accepted,
        Self::Partial,
        Self::Unknown,
        Self::NotFound,
        Self::Confirmed,
        Self::Rejected,
        Self::Abandoned,
    ];

    /// Whether callers are told `Settled`.
    pub fn settled(self) -> bool {
        matches!(self, Self::Confirmed | Self::Rejected | Self::Abandoned)
    }
}

/// Why an action is `UNKNOWN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Doubt {
    /// The lease of a holder that had begun lapsed.
    LeaseLapsed,
    /// The executor reported that it does not know.
    Reported,
    /// A begun grant was released.
    Released,
    /// A send was reported that never passed *begin*, or whose grant a failover lost.
    Ungated,
    /// The last attempt left nothing, but an earlier one may have.
    EarlierAttempt,
    /// An operator's decision took the lease of a holder that had begun, or re-opened the action.
    Decided,
    /// Evidence contradicts itself.
    Contradiction,
}

/// A stop that lasts until proof or an operator's decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// Evidence contradicts itself.
    Contradiction,
    /// A lookup still saw the work pending after the effect deadline.
    EffectDeadlinePassed,
}

/// Whether a person has to approve, or has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Approval {
    /// Not asked for.
    NotRequired,
    /// Asked for.
    Pending {
        /// When the request expires.
        expires_at: Timestamp,
    },
    /// Given; it does not expire.
    Given {
        /// When.
        at: Timestamp,
        /// By whom.
        by: Principal,
    },
}

/// What a grant allows: one thing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GrantKind {
    /// One begin, one send.
    Execute,
    /// One lookup.
    Verify,
}

/// How a grant ended other than by time that nobody has written down yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ended {
    /// Its holder brought the evidence.
    Evidence,
    /// Its holder gave it back.
    Released,
    /// Its lease ran out.
    Lapsed,
    /// Newer knowledge or a decision overtook it.
    Fenced,
}

/// The grant of the action's current token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The token, and so the one thing that it allows.
    pub token: Token,
    /// Who holds it.
    pub holder: Caller,
    /// The request that asked for it.
    pub request: RequestId,
    /// What it allows.
    pub kind: GrantKind,
    /// The attempt that it would be, or is. Zero for a lookup.
    pub attempt: u32,
    /// Facts that a resuming execution has to bring about.
    pub resumes: Vec<FactName>,
    /// Whether an earlier attempt is undisproved.
    pub resend: bool,
    /// Database time of the grant; the lease counts from it.
    pub granted_at: Timestamp,
    /// The latest expiry that the holder was told.
    pub expires_at: Timestamp,
    /// No renewal goes beyond this.
    pub hold_until: Timestamp,
    /// When the gate was passed.
    pub begun_at: Option<Timestamp>,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
}

impl Grant {
    /// Whether it still keeps everyone else out.
    pub fn live(&self, now: Timestamp) -> bool {
        self.ended.is_none() && now < self.expires_at
    }

    /// Whether its holder has announced the send.
    pub fn begun(&self) -> bool {
        self.begun_at.is_some()
    }
}

/// An execution that may have left an effect, or may still leave one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// From 1, never reused.
    pub number: u32,
    /// The token it ran under.
    pub token: Token,
    /// The latest expiry that its holder was ever told.
    pub lease_end: Timestamp,
    /// When its holder reported that the send is over.
    pub ended_at: Option<Timestamp>,
    /// What the receiver calls it.
    pub external_id: Option<ExternalId>,
    /// The strongest word of its executor that stands.
    pub word: Word,
}

/// What an executor's receipt said about an attempt that has not been disproved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Word {
    /// Nothing, or that it does not know.
    None,
    /// The receiver took the command.
    Accepted,
    /// The receiver said that the effect is done.
    Completed,
}

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
        let required = spec.contract.approval == crate::contract::ApprovalNeed::Required;
        let expires_at = now.plus(crate::contract::Terms::APPROVAL_EXPIRES);
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
