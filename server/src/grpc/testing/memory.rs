//! A judge and a ledger in memory: the core over a map, with a clock that tests turn by hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::command::Command;
use deed_core::event::Event;
use deed_core::id::ActionKey;
use deed_core::judgement::Remembered;
use deed_core::reply::{Refusal, Reply};
use deed_core::text::{ExternalId, Namespace, Tool};
use deed_core::time::{Span, Timestamp};
use tokio::sync::watch;

use crate::service::ledger::{Ledger, ListFilter, Page, Position};
use crate::service::{Call, Error, Judge, Judged, Watch};

/// How the memory behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mood {
    #[default]
    Well,
    /// The database is away.
    Away,
    /// Calls are not answered before they are let go.
    Stuck,
}

#[derive(Debug, Default)]
pub struct Stored {
    pub actions: BTreeMap<ActionKey, (Action, Vec<Event>)>,
    pub mood: Mood,
    /// The action whose row somebody holds.
    pub held: Option<String>,
    /// Calls that were judged.
    pub judged: usize,
    /// The actions of all calls, in the order in which they came.
    pub came: Vec<String>,
    /// Calls that wait to be let go.
    pub waiting: usize,
    pub waited: Span,
    /// How often an action was read.
    pub looks: usize,
    /// Judged right after the next read of an action.
    pub meanwhile: Option<Command>,
    /// Told of every change.
    changes: watch::Sender<()>,
}

impl Stored {
    fn judge(&mut self, command: &Command) -> Result<Reply, Refusal> {
        self.judged += 1;
        let before = self.actions.get(&command.key).map(|(action, _)| action);
        let judgement = Protocol::default().decide(before, &Remembered::default(), command, NOW);
        if let Some(next) = judgement.next {
            let row = self
                .actions
                .entry(command.key.clone())
                .or_insert_with(|| ((*next).clone(), Vec::new()));
            row.0 = *next;
            row.1.extend(judgement.events);
            self.changes.send_replace(());
        }
        judgement.reply
    }

    fn holds(&self, command: &Command) -> bool {
        self.mood == Mood::Stuck || self.held.as_deref() == Some(command.key.action_id.as_str())
    }
}

/// Shared by the server and the test.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Stored>>);

/// The time of everything.
pub const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

impl Memory {
    pub fn with<T>(&self, look: impl FnOnce(&mut Stored) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets go whatever waits.
    pub fn release(&self) {
        self.with(|stored| {
            stored.mood = Mood::Well;
            stored.held = None;
            stored.changes.send_replace(());
        });
    }

    /// Waits until what is stored looks like this.
    pub async fn until(&self, look: impl Fn(&Stored) -> bool) {
        let mut changes = self.with(|stored| stored.changes.subscribe());
        while !self.with(|stored| look(stored)) {
            changes.changed().await.unwrap();
        }
    }

    fn well(&self) -> Result<(), Error> {
        match self.with(|stored| stored.mood) {
            Mood::Well | Mood::Stuck => Ok(()),
            Mood::Away => Err(Error::StoreUnavailable {
                why: "no connection".to_owned(),
                retry_after: Duration::from_millis(250),
            }),
        }
    }
}

impl Judge for Memory {
    async fn judge(&self, call: Call) -> Result<Judged, Error> {
        self.well()?;
        self.with(|stored| stored.came.push(call.command.key.action_id.as_str().to_owned()));
        if self.with(|stored| stored.holds(&call.command)) {
            let _waits = Waiting::among(self);
            self.until(|stored| !stored.holds(&call.command)).await;
        }
        self.with(|stored| {
            Ok(Judged {
                reply: stored.judge(&call.command)?,
                waited: stored.waited,
                now: NOW,
            })
        })
    }

    /// Of all actions alike: being told once too often is allowed.
    fn watch(&self, _key: &ActionKey) -> impl Watch + Send {
        Watching(self.with(|stored| stored.changes.subscribe()))
    }
}

/// Counts one call that waits, until it is dropped.
struct Waiting<'a>(&'a Memory);

impl<'a> Waiting<'a> {
    fn among(memory: &'a Memory) -> Self {
        memory.with(|stored| {
            stored.waiting += 1;
            stored.changes.send_replace(());
        });
        Self(memory)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.with(|stored| {
            stored.waiting -= 1;
            stored.changes.send_replace(());
        });
    }
}

struct Watching(watch::Receiver<()>);

impl Watch for Watching {
    async fn changed(&mut self) {
        // The sender lives in the memory, and so does whoever watches.
        self.0.changed().await.unwrap();
    }
}

impl Ledger for Memory {
    async fn action(&self, key: &ActionKey) -> Result<Option<(Action, Timestamp)>, Error> {
        self.well()?;
        Ok(self.with(|stored| {
            stored.looks += 1;
            let found = stored.actions.get(key).map(|(action, _)| (action.clone(), NOW));
            if let Some(command) = stored.meanwhile.take() {
                stored.judge(&command).unwrap();
            }
            found
        }))
    }

    async fn events(&self, key: &ActionKey, after: u32, limit: u32) -> Result<Vec<Event>, Error> {
        self.well()?;
        Ok(self.with(|stored| {
            let events = stored.actions.get(key).map(|(_, events)| events.clone());
            let later = events
                .unwrap_or_default()
                .into_iter()
                .filter(|event| event.sequence > after);
            later.take(usize::try_from(limit).unwrap()).collect()
        }))
    }

    async fn list(&self, filter: &ListFilter, after: Option<&Position>, limit: u32) -> Result<Page, Error> {
        self.well()?;
        let limit = usize::try_from(limit).unwrap();
        let readable = |row: &&Action| {
            let mut namespaces = filter.readable.iter().flatten();
            filter.readable.is_none() || namespaces.any(|namespace| *namespace == row.key.namespace)
        };
        Ok(self.with(|stored| {
            let rows = stored.actions.values().map(|(action, _)| action).filter(readable);
            let mut later = rows.filter(|row| after.is_none_or(|position| row.key > position.key));
            let actions: Vec<_> = later.by_ref().take(limit).cloned().collect();
            Page {
                more: later.next().is_some(),
                actions,
                now: NOW,
            }
        }))
    }

    async fn find_external(
        &self,
        namespace: &Namespace,
        tool: &Tool,
        external_id: &ExternalId,
    ) -> Result<Option<ActionKey>, Error> {
        self.well()?;
        Ok(self.with(|stored| {
            let mut rows = stored.actions.values().map(|(action, _)| action);
            let named = rows.find(|row| {
                row.key.namespace == *namespace
                    && row.spec.tool == *tool
                    && row.external_id.as_ref() == Some(external_id)
            });
            named.map(|row| row.key.clone())
        }))
    }
}
