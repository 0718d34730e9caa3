//! Progress: from every reached moment somebody leads on. One patient worker that looks and acts by the truth, and one
//! operator who answers when a person is asked for, bring the action to its end, whatever has happened before.
//!
//! Checked as an *always* claim about every state: the checker's *eventually* misses cycles.

use std::sync::Arc;

use deed_core::action::State as Known;
use deed_core::reply::{NextStep, WaitReason};

use super::deed::{Deed, Heard, Ruling, Store};
use super::receiver::{Fate, Outcome, Sees};
use super::said::{OPERATOR, PATIENT, Said, Told};
use super::setting::{Habit, Setting, TICK, Tick, Word};
use super::state::State;

/// An attempt takes a claim, a report and two lookups, a block one decision; ten of each are out of proportion.
const ROUNDS: u8 = 60;

/// Numbers of calls that nobody in a world reaches.
const FIRST_CALL: u8 = 100;

/// What the patient ones know and do.
struct Patience<'a> {
    setting: &'a Setting,
    deed: &'a Deed,
    store: Arc<Store>,
    now: Tick,
    /// What exists, one bit a fact.
    parts: u8,
    call: u8,
}

/// What exists, or will: one bit a fact.
pub fn truth(state: &State) -> u8 {
    let live = state
        .receiver
        .effects
        .iter()
        .filter(|effect| effect.fate != Fate::Failed);
    live.fold(0, |parts, effect| parts | effect.parts)
}

/// Whether the action comes to an end from here.
pub fn leads_on(setting: &Setting, deed: &Deed, state: &State) -> bool {
    let mut patience = Patience {
        setting,
        deed,
        store: state.primary.clone(),
        now: state.database_time(),
        parts: truth(state),
        call: FIRST_CALL,
    };
    (0..ROUNDS).any(|_| patience.round() == Some(true))
}

impl Patience<'_> {
    fn says(&mut self, speaker: u8, said: Said) -> Arc<Ruling> {
        let ruling = self.deed.judge(&self.store, speaker, self.call, said, self.now);
        self.call = self.call.saturating_add(1);
        self.store = ruling.after.clone();
        ruling
    }

    /// One claim and what follows from it. `Some(true)`: it is over.
    fn round(&mut self) -> Option<bool> {
        let begin = !self.setting.has(Habit::BeginApart);
        match self.says(PATIENT, Said::Claim { begin }).heard {
            Heard::Execute { token, begun, .. } => {
                let passed = begun
                    || matches!(
                        self.says(PATIENT, Said::Begin(token)).heard,
                        Heard::Execute { .. }
                    );
                if passed {
                    self.parts = self.setting.whole();
                    let taken = self.setting.terms.asynchronous;
                    let outcome = if taken {
                        Outcome::Taken(0)
                    } else {
                        Outcome::Done(0)
                    };
                    self.says(PATIENT, Said::Report(token, Told::Heard(outcome), false));
                }
            }
            Heard::Verify(token) => {
                let sees = match self.parts {
                    0 => Sees::Nothing,
                    parts if parts == self.setting.whole() => Sees::Effect(0),
                    parts => Sees::Part(parts),
                };
                self.says(PATIENT, Said::Verify(token, sees, false));
            }
            Heard::Renewed(_) | Heard::Stop | Heard::Refused => return self.stopped(),
        }
        None
    }

    fn stopped(&mut self) -> Option<bool> {
        let answer = self.deed.look(&self.store, self.now)?;
        match answer.step {
            NextStep::Settled(settled) if settled.state == Known::Confirmed => return Some(true),
            NextStep::Settled(_) => {
                return self
                    .decides(&[Word::Reopen])
                    .then_some(true)
                    .or_else(|| self.waits(1));
            }
            NextStep::Wait {
                reason: WaitReason::Approval,
                ..
            } => self.decides(&[Word::Approve]),
            NextStep::Wait { retry_after, .. }
            | NextStep::Held {
                lease_left: retry_after,
                ..
            } => {
                let ticks = retry_after.micros().div_ceil(TICK.micros());
                return self.waits(Tick::try_from(ticks).unwrap_or(Tick::MAX));
            }
            NextStep::Blocked { .. } if self.parts == 0 => {
                self.decides(&[Word::Absent, Word::Reopen]) || {
                    self.waits(1);
                    true
                }
            }
            NextStep::Blocked { .. } => self.decides(&[Word::Confirmed]),
            NextStep::Execute(_) | NextStep::VerifyEffect(_) | NextStep::Claimable(_) => true,
        };
        None
    }

    fn waits(&mut self, ticks: Tick) -> Option<bool> {
        self.now = self.now.saturating_add(ticks);
        None
    }

    /// The first of these words that the rules allow now.
    fn decides(&mut self, words: &[Word]) -> bool {
        words.iter().any(|word| {
            let version = self.deed.row(&self.store).map_or(0, |row| row.version.0);
            self.says(OPERATOR, Said::Decide(*word, version)).heard != Heard::Refused
        })
    }
}
