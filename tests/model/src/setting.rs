//! What a world is like: the contract, who lives in it, what may go wrong, and when it ends.
//!
//! Time is discrete. One tick is a second of the database's clock: what happens within one tick happens at one time, in
//! any order.

use deed_core::contract::{Contract, Deduplication, Guarantee, Terms, Verification};
use deed_core::time::Span;

use super::rule::Rule;
use super::sights::Sight;

/// A point in true time, or a length of it.
pub type Tick = u8;

/// The length of a tick. A second, because the receiver's window of a contract is at least that long.
pub const TICK: Span = Span::from_secs(1);

/// So many ticks of the database's clock.
pub const fn ticks(count: u64) -> Span {
    Span::from_secs(count)
}

/// What somebody may do in a world, at any time and again and again. Loss, repetition and delay of calls and of their
/// answers need no entry: they are part of every world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Habit {
    /// Workers pass the gate with a call of its own, not with the claim.
    BeginApart,
    /// Evidence asks for the next grant.
    GoesOn,
    /// A worker that passed the gate sends however late, as if it had been frozen between the two.
    Freezes,
    /// A worker says that it does not know while another thread of it may still send.
    Despairs,
    /// A worker skips the gate: it sends, or lets another thread send, under a grant that has not begun.
    SkipsTheGate,
    /// A worker skips the gate, but not before its word that it may have sent has been heard.
    ConfessesFirst,
    /// Workers renew.
    Renews,
    /// Workers give leases back.
    Releases,
    /// The receiver answers that it did nothing and may be asked again.
    Busy,
    /// The receiver refuses for good.
    Refuses,
    /// The receiver does a part of what it is asked.
    Halves,
    /// Accepted jobs may fail.
    JobsFail,
    /// A lookup may be unable to tell.
    Blinks,
    /// A lookup does not raise the receiver's floor.
    LeavesTheFloor,
    /// Somebody without a lease tells Deed what is to be seen.
    Witnesses,
    /// The operator looks first and decides later, on the version that was there.
    DecidesLater,
    /// A commit's wait for the standby may be cut off: the row is written, the caller is not answered.
    CutOff,
    /// The standby follows when it likes, and nobody waits for it.
    LazyStandby,
    /// Another action has named the effect's external id first. Of that action only this can be seen from here.
    Contested,
}

/// What the operator may decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    /// `Approve`.
    Approve,
    /// `Deny`.
    Deny,
    /// `Resolve{confirmed}`, if an effect is to be seen.
    Confirmed,
    /// `Resolve{absent}`, if none is to be seen.
    Absent,
    /// `Resolve{rejected}`.
    Rejected,
    /// `Resolve{abandoned}`.
    Abandoned,
    /// `Reopen`.
    Reopen,
    /// `Reopen{new_key}`.
    NewKey,
}

/// A world.
#[derive(Clone, Debug)]
pub struct Setting {
    /// For the table.
    pub name: &'static str,
    /// What the caller says about its tool.
    pub terms: Terms,
    /// How many declared facts the effect has; none: it is one whole.
    pub facts: u8,
    /// The clock stops here.
    pub horizon: Tick,
    /// How often each worker may claim.
    pub claims: [u8; 2],
    /// How often a worker's process may end and be started anew under the same name.
    pub crashes: u8,
    /// How long after its time an effect may stay hidden from lookups, or be applied late: for a lookup the same.
    pub hides: Tick,
    /// How long the receiver remembers a key.
    pub remembers: Tick,
    /// How long an accepted job may take.
    pub queues: Tick,
    /// The largest forward step that the deployment allows for.
    pub allowed_step: Tick,
    /// How often the database's clock steps forward by one tick.
    pub clock_steps: u8,
    /// How often the standby is promoted.
    pub failovers: u8,
    /// How many decisions the operator takes.
    pub decisions: u8,
    /// Which.
    pub words: &'static [Word],
    /// What else happens.
    pub habits: &'static [Habit],
    /// How long after a grant its answer may come, where the holder counts its lease from the answer.
    pub commit_wait: Tick,
    /// The rule that is taken out.
    pub without: Option<Rule>,
    /// What must be seen in this world.
    pub shows: &'static [Sight],
}

impl Setting {
    /// A quiet world under these terms.
    pub fn new(name: &'static str, terms: Terms) -> Self {
        let window = match terms.deduplication {
            Deduplication::IdempotencyKey { window } => whole_ticks(window),
            Deduplication::None | Deduplication::FencingToken => 0,
        };
        let (settles, pending) = match terms.verification {
            Verification::Postcondition {
                settle_window,
                effect_deadline,
            } => (whole_ticks(settle_window), whole_ticks(effect_deadline)),
            Verification::None => (0, 0),
        };
        Self {
            name,
            terms,
            facts: 0,
            horizon: 8,
            claims: [2, 2],
            crashes: 0,
            hides: settles,
            remembers: window,
            queues: if terms.asynchronous { pending } else { 0 },
            allowed_step: 0,
            clock_steps: 0,
            failovers: 0,
            decisions: 0,
            words: &[],
            habits: &[],
            commit_wait: 0,
            without: None,
            shows: &[],
        }
    }

    /// What the contract promises; nothing, if it contradicts itself.
    pub fn guarantee(&self) -> Option<Guarantee> {
        Contract::new(self.terms)
            .ok()
            .map(|contract| contract.guarantee())
    }

    /// Whether this may happen here.
    pub fn has(&self, habit: Habit) -> bool {
        self.habits.contains(&habit)
    }

    /// All of the effect, one bit a fact.
    pub fn whole(&self) -> u8 {
        if self.facts == 0 { 1 } else { (1 << self.facts) - 1 }
    }

    /// The same world without the rule.
    pub fn without(self, rule: Rule) -> Self {
        Self {
            without: Some(rule),
            ..self
        }
    }
}

/// Whole ticks of a span; the largest number where it is longer.
pub fn whole_ticks(span: Span) -> Tick {
    Tick::try_from(span.micros() / TICK.micros()).unwrap_or(Tick::MAX)
}

/// Worlds are small: an index fits.
pub fn small(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
