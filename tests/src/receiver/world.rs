//! The receiver without its HTTP side: the one lock around ledger, dials and queued faults; the clock; what is waited for.
//!
//! Owns the state and how entries get into it. What a request meets is `conduct`'s part.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::Instant;

use super::dials::{Dials, Fault, LookupFault, Queued};
use super::journal::Journal;
use super::ledger::{Entry, Ledger};
use super::messages::{EffectRequest, ErrorBody};

/// What happens where the dials say *crash*.
pub type Crash = Arc<dyn Fn() + Send + Sync>;

/// What the client gets to see.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T> {
    Answer(T),
    Error(u16, ErrorBody),
    /// The connection ends without an answer.
    Cut,
}

/// A receiver without its HTTP side.
pub struct World {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    /// How often each business id was released: a delay ends when its number moves.
    releases: watch::Sender<HashMap<String, u64>>,
    started: (Instant, SystemTime),
    pub(super) crash: Crash,
}

/// What the lock protects.
pub(super) struct State {
    pub ledger: Ledger,
    pub dials: Dials,
    pub keys_in_progress: HashSet<String>,
    /// Moved by a reset: what was under way before it no longer lands.
    pub epoch: u64,
    journal: Option<Journal>,
    pub queues: HashMap<String, (VecDeque<Fault>, VecDeque<LookupFault>)>,
}

/// One request on its way: what it meets, and the marks by which its delays and its landing know that they still count.
#[derive(Clone)]
pub(super) struct Passage {
    pub request: EffectRequest,
    pub fault: Fault,
    pub epoch: u64,
    pub released: u64,
}

impl World {
    pub fn new(ledger: Ledger, journal: Option<Journal>, dials: Dials, crash: Crash) -> Arc<Self> {
        let state = State {
            ledger,
            dials,
            keys_in_progress: HashSet::new(),
            epoch: 0,
            journal,
            queues: HashMap::new(),
        };
        let world = Arc::new(Self {
            state: Mutex::new(state),
            changes: watch::Sender::new(0),
            releases: watch::Sender::default(),
            started: (Instant::now(), SystemTime::now()),
            crash,
        });
        world.resume_jobs();
        world
    }

    /// Ends every delay that is under way for this business id and shows whatever was hidden of it.
    pub fn release(&self, business_id: &str) {
        self.releases
            .send_modify(|releases| *releases.entry(business_id.to_owned()).or_default() += 1);
        let mut state = self.lock();
        self.record(
            &mut state,
            Entry::Revealed {
                business_id: business_id.to_owned(),
            },
        );
    }

    /// Replaces the standing behaviour.
    pub fn turn(&self, dials: Dials) {
        self.lock().dials = dials;
    }

    /// Replaces the faults that are queued for one business id.
    pub fn queue(&self, business_id: &str, queued: Queued) {
        let queues = (queued.effects.into(), queued.lookups.into());
        self.lock().queues.insert(business_id.to_owned(), queues);
    }

    /// Empties the ledger and its journal; what is still under way will not land. The dials stay.
    pub fn reset(&self) -> std::io::Result<()> {
        let mut state = self.lock();
        if let Some(journal) = &mut state.journal {
            journal.clear()?;
        }
        state.ledger = Ledger::default();
        state.keys_in_progress.clear();
        state.epoch += 1;
        drop(state);
        self.changed();
        Ok(())
    }

    /// Reads the ledger under the lock.
    pub fn read<T>(&self, read: impl FnOnce(&Ledger) -> T) -> T {
        read(&self.lock().ledger)
    }

    /// Whether a request with this idempotency key is under way.
    pub fn key_in_progress(&self, key: &str) -> bool {
        self.lock().keys_in_progress.contains(key)
    }

    /// Waits until the condition holds; it is asked again after every entry and every key that is taken.
    pub async fn until(&self, condition: impl Fn() -> bool) {
        let mut changes = self.changes.subscribe();
        // SUBTLE: not `wait_for`, which would ask the condition under the lock of `changes`; the condition takes the lock
        // of the state, under which `changed` waits for the other.
        while !condition() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Milliseconds since 1970; never goes back while the process lives.
    pub(super) fn now_ms(&self) -> u64 {
        let (instant, system) = self.started;
        let since = system.duration_since(UNIX_EPOCH).unwrap_or_default() + instant.elapsed();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) async fn delay(&self, business_id: &str, released: u64, ms: u64) {
        let mut releases = self.releases.subscribe();
        let release =
            releases.wait_for(|releases| releases.get(business_id).copied().unwrap_or_default() > released);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            _ = release => {}
        }
    }

    pub(super) fn released(&self, business_id: &str) -> u64 {
        self.releases
            .borrow()
            .get(business_id)
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panicking test must not hide the ledger from its own assertion message.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an entry to the journal, then to the ledger.
    pub(super) fn record(&self, state: &mut State, entry: Entry) {
        if let Some(journal) = &mut state.journal
            && let Err(error) = journal.append(&entry)
        {
            // A ledger that forgets is worse than none: whoever counts would count too little.
            tracing::error!(%error, "the receiver cannot write its journal and ends");
            std::process::exit(74);
        }
        state.ledger.record(entry);
        self.changed();
    }

    pub(super) fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

pub(super) fn error(code: &str, message: &str, retry_after_ms: Option<u64>) -> ErrorBody {
    ErrorBody {
        code: code.to_owned(),
        message: message.to_owned(),
        retry_after_ms,
    }
}
