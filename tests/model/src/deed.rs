//! Deed itself in the model: rows and history in memory, and [`Protocol::decide`] for every call that arrives. There is no
//! transition of an action in this room, or anywhere else in the model.
//!
//! The same call on the same store at the same time is judged once and looked up afterwards; stores that nothing can tell
//! apart are kept once. Both only save time.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::id::Version;
use deed_core::judgement::Judgement;
use deed_core::reply::{Answer, NextStep, Reply};
use deed_core::time::Timestamp;

use super::claims::{self, Arrival, Consequences};
use super::digest::{Versions, digest};
use super::ledger::Ledger;
use super::rule::Rule;
use super::said::Said;
use super::setting::{Habit, Setting, Tick, ticks, whole_ticks};
use super::words::Words;

/// What is written of the action, at one moment.
#[derive(Default)]
pub struct Store {
    /// The row and its history.
    pub ledger: Ledger,
    digest: u64,
}

impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Store {}

impl Hash for Store {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {:016x}", self.digest)
    }
}

/// What a caller hears, as far as it matters to what it does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Heard {
    /// A grant to execute.
    Execute {
        /// The token.
        token: u64,
        /// Ticks of the lease that are left.
        left: Tick,
        /// The gate has been passed.
        begun: bool,
        /// What to do, one bit a fact.
        parts: u8,
        /// Of the outward key.
        generation: u32,
    },
    /// A grant to look up.
    Verify(u64),
    /// The lease goes on for so many ticks.
    Renewed(Tick),
    /// Any other next step.
    Stop,
    /// A refusal.
    Refused,
}

impl Heard {
    /// The grant that it hands out.
    pub fn token(self) -> Option<u64> {
        match self {
            Self::Execute { token, .. } | Self::Verify(token) => Some(token),
            Self::Renewed(_) | Self::Stop | Self::Refused => None,
        }
    }
}

/// One call, judged.
#[derive(Debug)]
pub struct Ruling {
    /// What is written then.
    pub after: Arc<Store>,
    /// What the caller hears.
    pub heard: Heard,
    /// Something is written.
    pub writes: bool,
    /// The answer needs a synchronous commit although nothing is written.
    pub reads_back: bool,
    /// What it means for the claims.
    pub consequences: Consequences,
}

/// The protocol with what it is told to remember.
pub struct Deed {
    /// What commands are made of.
    pub words: Words,
    protocol: Protocol,
    without: Option<Rule>,
    versions: Versions,
    stores: Mutex<HashMap<u64, Arc<Store>>>,
    /// By the hash of the question, as the checker knows moments by theirs.
    rulings: [Mutex<HashMap<u64, Arc<Ruling>>>; 16],
}

/// When every world begins: 2027-01-15T08:00:00Z. Any time serves that makes tokens look like real ones.
const BASE: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// The database's time.
pub fn time(tick: Tick) -> Timestamp {
    BASE.plus(ticks(u64::from(tick)))
}

impl Deed {
    /// For this world.
    pub fn new(setting: &Setting) -> anyhow::Result<Self> {
        Ok(Self {
            words: Words::new(setting)?,
            protocol: Protocol {
                max_clock_step: ticks(u64::from(setting.allowed_step)),
            },
            without: setting.without,
            versions: if setting.has(Habit::DecidesLater) {
                Versions::Matter
            } else {
                Versions::AreCurrent
            },
            stores: Mutex::default(),
            rulings: std::array::from_fn(|_| Mutex::default()),
        })
    }

    /// What is written before anybody calls.
    pub fn first(&self) -> Arc<Store> {
        let mut ledger = Ledger::default();
        if let Some(rival) = &self.words.rival {
            for id in &self.words.ids {
                ledger.register(rival, self.words.spec.tool.as_str(), id.as_str());
            }
        }
        self.kept(ledger)
    }

    /// The row.
    pub fn row<'a>(&self, store: &'a Store) -> Option<&'a Action> {
        store.ledger.row(&self.words.key)
    }

    /// Whether the call is remembered.
    pub fn remembers(&self, store: &Store, speaker: u8, call: u8) -> bool {
        let id = self.words.request(speaker, call);
        store.ledger.past_request(&self.words.key, id).is_some()
    }

    /// A call arrives at the database's time.
    pub fn judge(&self, store: &Arc<Store>, speaker: u8, call: u8, said: Said, now: Tick) -> Arc<Ruling> {
        let mut hasher = DefaultHasher::new();
        (store.digest, speaker, call, said, now).hash(&mut hasher);
        let question = hasher.finish();
        let shard = usize::try_from(question % 16).unwrap_or(0);
        let known = self.rulings[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&question)
            .cloned();
        if let Some(ruling) = known {
            return ruling;
        }
        let ruling = Arc::new(self.rule(store, speaker, call, said, now));
        let mut rulings = self.rulings[shard].lock().unwrap_or_else(PoisonError::into_inner);
        rulings.entry(question).or_insert(ruling).clone()
    }

    fn rule(&self, store: &Arc<Store>, speaker: u8, call: u8, said: Said, now: Tick) -> Ruling {
        let version = match said {
            Said::Decide(_, version) => Version(version),
            _ => Version(0),
        };
        let mut command = self.words.command(speaker, call, said, version);
        let at = time(now);
        let before = self.row(store);
        let mut remembered = store.ledger.recall(&command);
        let judgement = match self.without {
            None => self.protocol.decide(before, &remembered, &command, at),
            Some(rule) => {
                let told = command.clone();
                let known = remembered.clone();
                let mut row = before.cloned();
                rule.before(&mut row, &mut remembered, &mut command, at);
                let mut judgement = self.protocol.decide(row.as_ref(), &remembered, &command, at);
                rule.after(before, &known, &told, &mut judgement, at);
                (command, remembered) = (told, known);
                judgement
            }
        };
        let arrival = Arrival {
            command: &command,
            remembered: &remembered,
            before,
            judgement: &judgement,
        };
        let consequences = claims::check(&arrival);
        let row = judgement.next.as_deref().or(before);
        let heard = self.heard(&judgement, row.map_or(0, |row| row.key_generation));
        let writes = judgement.next.is_some();
        let after = if writes {
            let mut ledger = store.ledger.clone();
            ledger.keep(&command.key, &judgement);
            self.kept(ledger)
        } else {
            store.clone()
        };
        Ruling {
            after,
            heard,
            writes,
            reads_back: judgement.reads_back,
            consequences,
        }
    }

    fn heard(&self, judgement: &Judgement, generation: u32) -> Heard {
        match &judgement.reply {
            Err(_) => Heard::Refused,
            Ok(Reply::Renewed { lease_left, .. }) => Heard::Renewed(whole_ticks(*lease_left)),
            Ok(Reply::Step(answer)) => match &answer.step {
                NextStep::Execute(grant) => Heard::Execute {
                    token: grant.token.number(),
                    left: whole_ticks(grant.lease_left),
                    begun: grant.begun,
                    parts: self.words.parts(&grant.resumes),
                    generation,
                },
                NextStep::VerifyEffect(grant) => Heard::Verify(grant.token.number()),
                NextStep::Claimable(_)
                | NextStep::Wait { .. }
                | NextStep::Held { .. }
                | NextStep::Settled(_)
                | NextStep::Blocked { .. } => Heard::Stop,
            },
        }
    }

    /// What a claim would be told, without making it.
    pub fn look(&self, store: &Store, now: Tick) -> Option<Answer> {
        let row = self.row(store)?;
        let (_, answer) = self.protocol.look(row, time(now));
        Some(answer)
    }

    /// The store, or the one that nothing can tell from it.
    fn kept(&self, ledger: Ledger) -> Arc<Store> {
        let mut hasher = DefaultHasher::new();
        digest(&mut hasher, &ledger, &self.words.key, self.versions);
        let digest = hasher.finish();
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Store { ledger, digest });
        stores.entry(digest).or_insert_with(new).clone()
    }
}
