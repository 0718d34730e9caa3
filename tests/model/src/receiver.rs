//! The outside system: sends on their way, effects, and what an honest lookup can see of them. It is honest but slow; its
//! own ledger is what counts.

use deed_core::contract::Deduplication;

use super::setting::{Habit, Setting, Tick, small};

/// A send whose first byte has left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Send {
    /// Who sent it.
    pub worker: u8,
    /// The token that it carries.
    pub token: u64,
    /// The generation of its outward key.
    pub generation: u32,
    /// What it asks for, one bit a fact.
    pub parts: u8,
    /// It has landed or is lost by then.
    pub over_by: Tick,
}

/// What became of a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// It waits in the receiver's queue.
    Queued,
    /// It is done.
    Done,
    /// It failed and left nothing.
    Failed,
}

/// An effect, or a job that may become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effect {
    /// The generation of the outward key it came with.
    pub generation: u32,
    /// What was done, one bit a fact.
    pub parts: u8,
    /// When it was taken, done or failed.
    pub at: Tick,
    /// What became of it.
    pub fate: Fate,
}

/// How a send ended, as its sender may learn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Done; the receiver's number for it.
    Done(u8),
    /// Taken; the receiver's number for it.
    Taken(u8),
    /// Nothing was done.
    Nothing,
    /// It never arrived.
    Lost,
}

/// What a lookup may truly see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sees {
    /// The whole effect, under this number.
    Effect(u8),
    /// Nothing.
    Nothing,
    /// Some of the facts.
    Part(u8),
    /// A job that waits.
    Queued,
    /// A job that failed, under this number.
    Failed(u8),
    /// It cannot tell.
    Unclear,
}

/// How a send lands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Landing {
    /// The receiver does so much of it, if it admits it.
    Does(u8),
    /// The receiver does nothing and says so.
    Turned,
    /// It is lost.
    Lost,
}

/// The outside system.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Receiver {
    /// On their way.
    pub flying: Vec<Send>,
    /// The ledger.
    pub effects: Vec<Effect>,
    /// No token below this is admitted.
    pub floor: u64,
    /// The last token that was admitted.
    pub used: u64,
}

impl Receiver {
    /// A send arrives, or does not.
    pub fn land(&mut self, setting: &Setting, now: Tick, send: Send, landing: Landing) -> Outcome {
        let parts = match landing {
            Landing::Does(parts) => parts,
            Landing::Turned => return Outcome::Nothing,
            Landing::Lost => return Outcome::Lost,
        };
        let answer = |number: usize| {
            let number = small(number);
            if setting.terms.asynchronous {
                Outcome::Taken(number)
            } else {
                Outcome::Done(number)
            }
        };
        match setting.terms.deduplication {
            Deduplication::FencingToken => {
                if send.token < self.floor || send.token == self.used {
                    return Outcome::Nothing;
                }
                (self.floor, self.used) = (send.token, send.token);
            }
            Deduplication::IdempotencyKey { .. } => {
                let known = self.effects.iter().position(|effect| {
                    effect.generation == send.generation && now < effect.at + setting.remembers
                });
                if let Some(number) = known {
                    return answer(number);
                }
            }
            Deduplication::None => {}
        }
        let queued = setting.terms.asynchronous;
        self.effects.push(Effect {
            generation: send.generation,
            parts,
            at: now,
            fate: if queued { Fate::Queued } else { Fate::Done },
        });
        answer(self.effects.len() - 1)
    }

    /// A lookup presents its token.
    pub fn raise_floor(&mut self, setting: &Setting, token: u64) {
        let fences = setting.terms.deduplication == Deduplication::FencingToken;
        if fences && !setting.has(Habit::LeavesTheFloor) {
            self.floor = self.floor.max(token);
        }
    }

    /// Everything that a lookup may truly see now.
    pub fn sights(&self, setting: &Setting, now: Tick) -> Vec<Sees> {
        let done = || {
            let effects = self.effects.iter().enumerate();
            effects.filter(|(_, effect)| effect.fate == Fate::Done)
        };
        let all = done().fold(0, |parts, (_, effect)| parts | effect.parts);
        let shown = |(_, effect): &(usize, &Effect)| now >= effect.at + setting.hides;
        let surely = done()
            .filter(shown)
            .fold(0, |parts, (_, effect)| parts | effect.parts);
        let whole = setting.whole();
        let mut sights = Vec::new();
        for seen in surely..=all {
            if seen & surely != surely || seen & !all != 0 {
                continue;
            }
            sights.push(match (seen, done().next()) {
                (0, _) | (_, None) => Sees::Nothing,
                (seen, Some((number, _))) if seen == whole => Sees::Effect(small(number)),
                (seen, _) => Sees::Part(seen),
            });
        }
        if surely == 0 {
            let queued = self.effects.iter().any(|effect| effect.fate == Fate::Queued);
            sights.extend(queued.then_some(Sees::Queued));
            let failed = |effect: &Effect| effect.fate == Fate::Failed;
            let failed = self.effects.iter().position(failed);
            sights.extend(failed.map(|number| Sees::Failed(small(number))));
        }
        if setting.has(Habit::Blinks) {
            sights.push(Sees::Unclear);
        }
        sights
    }

    /// How often the part that was done most often was done.
    pub fn times_done(&self) -> usize {
        let done = || self.effects.iter().filter(|effect| effect.fate == Fate::Done);
        let times = |bit: u8| done().filter(|effect| effect.parts & bit != 0).count();
        [1, 2].into_iter().map(times).max().unwrap_or(0)
    }
}
