//! The dials of a faulty store: what is to become of a statement, by script or by dice, and the journal of what did.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use deed_core::id::RequestId;

use crate::random::Dice;

/// One round trip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Statement {
    /// Lock the rows, read them and the time.
    Read,
    /// Write rows and history, and commit.
    Write,
    /// Commit without anything to write, synchronously where something was read back.
    Commit,
}

/// When a statement happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Happens {
    /// Before its caller hears of it.
    Now,
    /// After its caller was told that nobody knows.
    Late,
    Never,
}

/// What becomes of a statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fate {
    pub happens: Happens,
    /// Its caller is told what became of it; else that nobody knows.
    pub told: bool,
}

impl Fate {
    pub const DONE: Self = Self {
        happens: Happens::Now,
        told: true,
    };
    pub const REFUSED: Self = Self {
        happens: Happens::Never,
        told: true,
    };
    pub const UNTOLD: Self = Self {
        happens: Happens::Now,
        told: false,
    };
    pub const LATE: Self = Self {
        happens: Happens::Late,
        told: false,
    };
    pub const LOST: Self = Self {
        happens: Happens::Never,
        told: false,
    };

    /// A read that comes late is a read for nobody: only what writes can be late.
    pub fn of(statement: Statement) -> &'static [Self] {
        match statement {
            Statement::Read => &[Self::DONE, Self::REFUSED, Self::UNTOLD, Self::LOST],
            Statement::Write | Statement::Commit => {
                &[Self::DONE, Self::REFUSED, Self::UNTOLD, Self::LATE, Self::LOST]
            }
        }
    }
}

/// One statement, as it went.
#[derive(Clone, Debug)]
pub struct Entry {
    pub statement: Statement,
    /// What became of it in truth: a store that refuses by itself is believed.
    pub fate: Fate,
    /// The calls in its transaction.
    pub requests: Vec<RequestId>,
    /// Those of them that the store remembered.
    pub remembered: Vec<RequestId>,
    /// A synchronous commit was asked for.
    pub synchronous: bool,
}

/// How often a statement does not go as it should, in hundredths; each other fate is as likely.
#[derive(Clone, Copy, Debug)]
pub struct Odds {
    pub read: usize,
    pub write: usize,
}

/// Shared by all sessions of a store.
#[derive(Debug)]
pub struct Dials(Mutex<Inside>);

#[derive(Debug)]
struct Inside {
    odds: Odds,
    dice: Dice,
    script: HashMap<(RequestId, Statement), Fate>,
    journal: Vec<Entry>,
}

impl Dials {
    pub fn new(odds: Odds, seed: u64) -> Self {
        Self(Mutex::new(Inside {
            odds,
            dice: Dice(seed),
            script: HashMap::new(),
            journal: Vec::new(),
        }))
    }

    /// Everything goes as it should, but for what is scripted.
    pub fn scripted() -> Self {
        Self::new(Odds { read: 0, write: 0 }, 0)
    }

    /// What becomes of the next such statement that carries this call.
    pub fn script(&self, request: RequestId, statement: Statement, fate: Fate) {
        self.inside().script.insert((request, statement), fate);
    }

    /// From here on everything goes as it should.
    pub fn calm(&self) {
        self.inside().odds = Odds { read: 0, write: 0 };
    }

    pub fn roll(&self, statement: Statement, requests: &[RequestId]) -> Fate {
        let mut inside = self.inside();
        let scripted = requests
            .iter()
            .find_map(|request| inside.script.remove(&(*request, statement)));
        let odds = match statement {
            Statement::Read => inside.odds.read,
            Statement::Write | Statement::Commit => inside.odds.write,
        };
        match scripted {
            Some(fate) => fate,
            None if inside.dice.below(100) < odds => inside.dice.pick(&Fate::of(statement)[1..]),
            None => Fate::DONE,
        }
    }

    /// How late a late statement is: from before the next one can be there to well after it.
    pub fn lateness(&self) -> Duration {
        Duration::from_millis(self.inside().dice.pick(&[0, 1, 5, 25]))
    }

    pub fn write_down(&self, entry: Entry) {
        self.inside().journal.push(entry);
    }

    pub fn journal(&self) -> Vec<Entry> {
        self.inside().journal.clone()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap()
    }
}
