//! The outside system: it alone knows what happened. Its ledger is what is counted.

use std::collections::{BTreeMap, BTreeSet};

use deed_core::contract::Deduplication;
use deed_core::evidence::Verdict;
use deed_core::id::{OutwardKey, Token};
use deed_core::text::{ExternalId, Note};
use deed_core::time::{Span, Timestamp};

use crate::world::*;

/// How a send ended at the receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was done at once.
    Done(ExternalId),
    /// It was taken, and will be done or will fail.
    Taken(ExternalId),
    /// Nothing was done by this send; the receiver said so.
    Refused,
    /// It never arrived.
    Lost,
}

/// An effect, or a job that may become one.
struct Job {
    id: ExternalId,
    done_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    visible_from: Timestamp,
}

pub struct Receiver {
    deduplication: Deduplication,
    asynchronous: bool,
    /// The longest that an effect is hidden from lookups.
    lag: Span,
    /// The longest that a job waits in the queue.
    queue: Span,
    jobs: Vec<Job>,
    keys: BTreeMap<String, (Timestamp, ExternalId)>,
    floor: Option<Token>,
    used: BTreeSet<Token>,
}

impl Receiver {
    pub fn new(deduplication: Deduplication, asynchronous: bool, lag: Span, queue: Span) -> Self {
        Self {
            deduplication,
            asynchronous,
            lag,
            queue,
            jobs: Vec::new(),
            keys: BTreeMap::new(),
            floor: None,
            used: BTreeSet::new(),
        }
    }

    /// A send arrives.
    pub fn land(&mut self, now: Timestamp, token: Token, key: &OutwardKey, dice: &mut Dice) -> Outcome {
        if dice.percent(15) {
            return Outcome::Lost;
        }
        if self.deduplication == Deduplication::FencingToken && !self.admits(token) {
            return Outcome::Refused;
        }
        if dice.percent(25) {
            return Outcome::Refused;
        }
        if let Deduplication::IdempotencyKey { window } = self.deduplication
            && let Some((since, id)) = self.keys.get(key.as_str())
            && now < since.plus(window)
        {
            // Known: the first answer again, or "already exists", which is true of this send too.
            return match (dice.percent(30), self.asynchronous) {
                (true, _) => Outcome::Refused,
                (false, true) => Outcome::Taken(id.clone()),
                (false, false) => Outcome::Done(id.clone()),
            };
        }
        let id = external(&format!("E{}", self.jobs.len() + 1));
        self.keys.insert(key.as_str().to_owned(), (now, id.clone()));
        let waits = dice.within(self.queue);
        let fails = self.asynchronous && dice.percent(20);
        let over = if self.asynchronous { now.plus(waits) } else { now };
        self.jobs.push(Job {
            id: id.clone(),
            done_at: (!fails).then_some(over),
            failed_at: fails.then_some(over),
            visible_from: over.plus(dice.within(self.lag)),
        });
        if self.asynchronous {
            Outcome::Taken(id)
        } else {
            Outcome::Done(id)
        }
    }

    fn admits(&mut self, token: Token) -> bool {
        let stale = self.floor.is_some_and(|floor| token < floor) || self.used.contains(&token);
        self.floor = self.floor.max(Some(token));
        self.used.insert(token);
        !stale
    }

    /// What a lookup truly sees.
    pub fn look(&mut self, now: Timestamp, token: Option<Token>) -> Verdict {
        if self.deduplication == Deduplication::FencingToken {
            self.floor = self.floor.max(token);
        }
        let visible = |job: &&Job| job.visible_from <= now;
        if let Some(job) = self.jobs.iter().filter(visible).find(|job| job.done_at.is_some()) {
            return Verdict::Confirmed {
                external_id: Some(job.id.clone()),
                result: None,
            };
        }
        match self.jobs.iter().rfind(visible) {
            Some(job) if job.failed_at.is_some() => Verdict::Failed {
                external_id: Some(job.id.clone()),
                attempt: None,
                reason: Note::none(),
            },
            _ => Verdict::NotFound,
        }
    }

    /// How many effects there are, or will be.
    pub fn effects(&self) -> usize {
        self.jobs.iter().filter(|job| job.done_at.is_some()).count()
    }
}
