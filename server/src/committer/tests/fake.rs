//! A store in memory that keeps the seam's promises, and breaks them where a test asks for it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deed_core::action::Action;
use deed_core::event::{Event, What};
use deed_core::id::{ActionKey, RequestId, Token};
use deed_core::judgement::{PastRequest, PastToken, Remembered};
use deed_core::text::ExternalId;
use deed_core::time::{Span, Timestamp};
use tokio::sync::{Notify, watch};

use crate::store::{Busy, Connect, Error, Lookup, Reading, Row, Transact, Write};

/// What goes wrong with a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing: the transaction of this turn goes through.
    None,
    /// The database cannot be reached.
    Away,
    /// The write is refused for the moment: 40001, 40P01.
    Refused,
    /// The write waits in vain for somebody else's uncommitted insert.
    Inserting,
    /// A guard of the rows lets nothing through.
    Guarded,
    /// It is committed, and the connection is lost before that is told.
    LostAfterCommit,
    /// The connection is lost before it is committed.
    LostBeforeCommit,
}

/// One transaction that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Committed {
    pub read: Vec<ActionKey>,
    pub written: usize,
    pub synchronous: bool,
}

#[derive(Default)]
struct Tables {
    rows: HashMap<ActionKey, Action>,
    requests: HashMap<(ActionKey, RequestId), PastRequest>,
    tokens: HashMap<(ActionKey, Token), PastToken>,
    external_ids: HashMap<ExternalId, ActionKey>,
    locked: HashSet<ActionKey>,
    faults: VecDeque<Fault>,
    /// For as long as the script is empty.
    lasting: Option<Fault>,
    /// Every write of this row breaks a constraint.
    poisoned: HashSet<ActionKey>,
    /// Every write of this row is refused for the moment.
    contended: HashSet<ActionKey>,
    /// Appears in the next write's way.
    intruder: Option<Action>,
    committed: Vec<Committed>,
    reads: usize,
    /// How far the database's clock is ahead of the machine's.
    ahead: Span,
}

/// The database.
#[derive(Clone)]
pub struct Fake {
    tables: Arc<Mutex<Tables>>,
    unlocked: Arc<Notify>,
    reading: watch::Sender<usize>,
    flowing: watch::Sender<bool>,
}

/// A row held by somebody else until dropped.
pub struct Held {
    fake: Fake,
    key: ActionKey,
}

impl Fake {
    pub fn new() -> Self {
        Self {
            tables: Arc::default(),
            unlocked: Arc::default(),
            reading: watch::Sender::new(0),
            flowing: watch::Sender::new(true),
        }
    }

    pub fn hold(&self, key: &ActionKey) -> Held {
        assert!(self.tables().locked.insert(key.clone()));
        Held {
            fake: self.clone(),
            key: key.clone(),
        }
    }

    /// Lets transactions wait before their write, or go on.
    pub fn flow(&self, flowing: bool) {
        self.flowing.send_replace(flowing);
    }

    /// Waits until this many reads have been made.
    pub async fn reads(&self, count: usize) {
        let mut reading = self.reading.subscribe();
        reading.wait_for(|reads| *reads >= count).await.unwrap();
    }

    /// Lets the database's clock step forward.
    pub fn advance(&self, by: Span) {
        let mut tables = self.tables();
        tables.ahead = tables.ahead.plus(by);
    }

    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.tables().faults.extend(faults);
    }

    pub fn always(&self, fault: Option<Fault>) {
        self.tables().lasting = fault;
    }

    pub fn poison(&self, key: &ActionKey) {
        self.tables().poisoned.insert(key.clone());
    }

    pub fn contend(&self, key: &ActionKey) {
        self.tables().contended.insert(key.clone());
    }

    pub fn intrude(&self, action: Action) {
        self.tables().intruder = Some(action);
    }

    pub fn row(&self, key: &ActionKey) -> Option<Action> {
        self.tables().rows.get(key).cloned()
    }

    pub fn committed(&self) -> Vec<Committed> {
        self.tables().committed.clone()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.fake.tables().locked.remove(&self.key);
        self.fake.unlocked.notify_waiters();
    }
}

impl Connect for Fake {
    type Transact = Session;

    fn connect(&self) -> Session {
        Session {
            fake: self.clone(),
            mine: Vec::new(),
            read: Vec::new(),
            fault: Fault::None,
        }
    }
}

/// One connection.
pub struct Session {
    fake: Fake,
    mine: Vec<ActionKey>,
    read: Vec<ActionKey>,
    fault: Fault,
}

impl Session {
    fn unlock(&mut self) {
        let mut tables = self.fake.tables();
        for key in self.mine.drain(..) {
            tables.locked.remove(&key);
        }
        drop(tables);
        self.fake.unlocked.notify_waiters();
    }

    /// Locks every row that nobody holds, absent ones apart: nothing is there to lock.
    fn lock(&mut self, lookups: &[Lookup]) -> Vec<Row> {
        let mut tables = self.fake.tables();
        lookups
            .iter()
            .map(|lookup| {
                if tables.locked.contains(&lookup.key) {
                    return Row::Busy;
                }
                let remembered = tables.remembered(lookup);
                match tables.rows.get(&lookup.key).cloned() {
                    None => Row::Absent(remembered),
                    Some(action) => {
                        tables.locked.insert(lookup.key.clone());
                        self.mine.push(lookup.key.clone());
                        Row::Found(Box::new(action), remembered)
                    }
                }
            })
            .collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.unlock();
    }
}

impl Transact for Session {
    async fn read(&mut self, lookups: &[Lookup], busy: Busy) -> Result<Reading, Error> {
        assert!(lookups.is_sorted_by(|one, other| one.key < other.key));
        self.unlock();
        self.read = lookups.iter().map(|lookup| lookup.key.clone()).collect();
        let reads = {
            let mut tables = self.fake.tables();
            self.fault = tables
                .faults
                .pop_front()
                .or(tables.lasting)
                .unwrap_or(Fault::None);
            tables.reads += 1;
            tables.reads
        };
        self.fake.reading.send_replace(reads);
        if self.fault == Fault::Away {
            return Err(refused("08001"));
        }
        let unlocked = Arc::clone(&self.fake.unlocked);
        let mut rows = self.lock(lookups);
        if let Busy::Wait(patience) = busy {
            let until = tokio::time::Instant::now() + patience;
            while rows.iter().any(|row| matches!(row, Row::Busy)) {
                let waiting = unlocked.notified();
                if tokio::time::timeout_at(until, waiting).await.is_err() {
                    self.unlock();
                    return Err(Error::Busy);
                }
                self.unlock();
                rows = self.lock(lookups);
            }
        }
        Ok(Reading {
            now: now().plus(self.fake.tables().ahead),
            waited: Span::ZERO,
            rows,
        })
    }

    async fn write(&mut self, writes: &[Write<'_>], synchronous: bool) -> Result<Vec<bool>, Error> {
        let mut flowing = self.fake.flowing.subscribe();
        flowing.wait_for(|flowing| *flowing).await.unwrap();
        let outcome = {
            let mut tables = self.fake.tables();
            if let Some(action) = tables.intruder.take() {
                tables.rows.insert(action.key.clone(), action);
            }
            match self.fault {
                Fault::Refused => Err(refused("40001")),
                Fault::Inserting => Err(Error::Busy),
                Fault::Guarded => Ok(vec![false; writes.len()]),
                Fault::LostBeforeCommit => Err(lost()),
                Fault::None | Fault::Away => tables.commit(&self.read, writes, synchronous),
                Fault::LostAfterCommit => tables
                    .commit(&self.read, writes, synchronous)
                    .and_then(|_written| Err(lost())),
            }
        };
        self.unlock();
        outcome
    }
}

impl Tables {
    fn remembered(&self, lookup: &Lookup) -> Remembered {
        let key = lookup.key.clone();
        let token = lookup
            .token
            .and_then(|token| self.tokens.get(&(key.clone(), token)));
        let external_id = lookup.external_id.as_ref();
        Remembered {
            request: self.requests.get(&(key, lookup.request)).cloned(),
            token: token.cloned(),
            external_id: external_id.and_then(|id| self.external_ids.get(id)).cloned(),
        }
    }

    fn commit(
        &mut self,
        read: &[ActionKey],
        writes: &[Write<'_>],
        synchronous: bool,
    ) -> Result<Vec<bool>, Error> {
        let named: Vec<_> = writes.iter().filter_map(|write| write.registers).collect();
        let twice = named.iter().collect::<HashSet<_>>().len() < named.len();
        if twice || writes.iter().any(|write| self.breaks(write)) {
            return Err(Error::Determinate {
                what: "23505".into(),
                transient: false,
                source: None,
            });
        }
        if writes
            .iter()
            .any(|write| self.contended.contains(&write.next.key))
        {
            return Err(refused("40P01"));
        }
        let written: Vec<bool> = writes.iter().map(|write| self.put(write)).collect();
        self.committed.push(Committed {
            read: read.to_vec(),
            written: written.iter().filter(|written| **written).count(),
            synchronous,
        });
        Ok(written)
    }

    fn breaks(&self, write: &Write<'_>) -> bool {
        let taken = write.registers.and_then(|id| self.external_ids.get(id));
        self.poisoned.contains(&write.next.key) || taken.is_some_and(|by| *by != write.next.key)
    }

    fn put(&mut self, write: &Write<'_>) -> bool {
        let key = &write.next.key;
        if self.rows.get(key).map(|row| row.version) != write.previous {
            return false;
        }
        self.rows.insert(key.clone(), write.next.clone());
        for event in write.events {
            self.remember(key, event);
        }
        if let Some(id) = write.registers {
            self.external_ids.insert(id.clone(), key.clone());
        }
        true
    }

    fn remember(&mut self, key: &ActionKey, event: &Event) {
        if let (Some(trace), Some(caller)) = (&event.request, &event.by) {
            let past = PastRequest {
                fingerprint: trace.fingerprint,
                caller: caller.clone(),
                granted: trace.granted,
                begun: trace.begun,
            };
            self.requests.insert((key.clone(), trace.id), past);
        }
        if let (What::Granted { kind, expires_at, .. }, Some(token), Some(holder)) =
            (&event.what, event.token, &event.by)
        {
            let past = PastToken {
                holder: holder.clone(),
                kind: *kind,
                attempt: event.attempt,
                lease_end: *expires_at,
            };
            self.tokens.insert((key.clone(), token), past);
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.unwrap_or(Duration::ZERO).as_micros();
    Timestamp::from_micros(i64::try_from(micros).unwrap())
}

fn refused(state: &str) -> Error {
    Error::Determinate {
        what: state.into(),
        transient: true,
        source: None,
    }
}

fn lost() -> Error {
    Error::Indeterminate {
        what: "the connection was lost during COMMIT".into(),
        source: None,
    }
}
