//! The decorator: a real store behind dials. It changes what happens and what is told, and nothing of what is asked.

use std::mem;
use std::sync::Arc;

use deed_core::action::Action;
use deed_core::event::Event;
use deed_core::id::{RequestId, Version};
use deed_core::text::ExternalId;
use deed_server::store::{Busy, Connect, Error, Lookup, Reading, Row, Transact, Write};
use tokio_util::task::TaskTracker;

use super::dials::{Dials, Entry, Fate, Happens, Statement};

/// A store whose sessions obey the dials.
#[derive(Debug)]
pub struct Faulty<C> {
    store: Arc<C>,
    dials: Arc<Dials>,
    late: TaskTracker,
}

impl<C: Connect> Faulty<C> {
    pub fn new(store: Arc<C>, dials: Arc<Dials>) -> Self {
        let late = TaskTracker::new();
        late.close();
        Self { store, dials, late }
    }

    /// Waits until whatever is late has come. Ask for nothing more meanwhile.
    pub async fn settled(&self) {
        self.late.wait().await;
    }
}

impl<C: Connect> Connect for Faulty<C> {
    type Transact = Session<C>;

    fn connect(&self) -> Session<C> {
        Session {
            inner: self.store.connect(),
            store: Arc::clone(&self.store),
            dials: Arc::clone(&self.dials),
            late: self.late.clone(),
            requests: Vec::new(),
            remembered: Vec::new(),
        }
    }
}

pub struct Session<C: Connect> {
    store: Arc<C>,
    inner: C::Transact,
    dials: Arc<Dials>,
    late: TaskTracker,
    /// The calls of the open transaction.
    requests: Vec<RequestId>,
    remembered: Vec<RequestId>,
}

impl<C: Connect> Session<C> {
    /// Leaves the open transaction to whoever takes it; dropping it rolls it back.
    fn leave(&mut self) -> C::Transact {
        mem::replace(&mut self.inner, self.store.connect())
    }

    fn write_down(&self, statement: Statement, fate: Fate, synchronous: bool) {
        self.dials.write_down(Entry {
            statement,
            fate,
            requests: self.requests.clone(),
            remembered: self.remembered.clone(),
            synchronous,
        });
    }
}

impl<C: Connect> Transact for Session<C> {
    async fn read(&mut self, lookups: &[Lookup], busy: Busy) -> Result<Reading, Error> {
        self.requests = lookups.iter().map(|lookup| lookup.request).collect();
        self.remembered.clear();
        let fate = self.dials.roll(Statement::Read, &self.requests);
        if fate.happens == Happens::Never {
            self.write_down(Statement::Read, fate, false);
            return Err(failure(fate));
        }
        // What the store itself refuses is no fault of ours.
        let reading = self.inner.read(lookups, busy).await?;
        for (lookup, row) in lookups.iter().zip(&reading.rows) {
            if let Row::Found(_, remembered) | Row::Absent(remembered) = row
                && remembered.request.is_some()
            {
                self.remembered.push(lookup.request);
            }
        }
        self.write_down(Statement::Read, fate, false);
        if fate.told {
            return Ok(reading);
        }
        drop(self.leave());
        Err(failure(fate))
    }

    async fn write(&mut self, writes: &[Write<'_>], synchronous: bool) -> Result<Vec<bool>, Error> {
        let statement = if writes.is_empty() {
            Statement::Commit
        } else {
            Statement::Write
        };
        let fate = self.dials.roll(statement, &self.requests);
        match fate.happens {
            Happens::Now => {
                let written = self.inner.write(writes, synchronous).await?;
                self.write_down(statement, fate, synchronous);
                if fate.told {
                    Ok(written)
                } else {
                    Err(failure(fate))
                }
            }
            Happens::Never => {
                self.write_down(statement, fate, synchronous);
                drop(self.leave());
                Err(failure(fate))
            }
            Happens::Late => {
                self.write_down(statement, fate, synchronous);
                let mut left = self.leave();
                let owned: Vec<_> = writes.iter().map(Owned::of).collect();
                let lateness = self.dials.lateness();
                self.late.spawn(async move {
                    tokio::time::sleep(lateness).await;
                    let writes: Vec<_> = owned.iter().map(Owned::write).collect();
                    // Nobody is there to be told.
                    let _unheard = left.write(&writes, synchronous).await;
                });
                Err(failure(fate))
            }
        }
    }
}

/// A write that outlives its caller.
struct Owned {
    previous: Option<Version>,
    next: Action,
    events: Vec<Event>,
    registers: Option<ExternalId>,
}

impl Owned {
    fn of(write: &Write<'_>) -> Self {
        Self {
            previous: write.previous,
            next: write.next.clone(),
            events: write.events.to_vec(),
            registers: write.registers.cloned(),
        }
    }

    fn write(&self) -> Write<'_> {
        Write {
            previous: self.previous,
            next: &self.next,
            events: &self.events,
            registers: self.registers.as_ref(),
        }
    }
}

fn failure(fate: Fate) -> Error {
    let source = None;
    if fate.told {
        Error::Determinate {
            what: "injected: it did not happen".to_owned(),
            transient: true,
            source,
        }
    } else {
        Error::Indeterminate {
            what: "injected: nobody knows".to_owned(),
            source,
        }
    }
}
