//! What the server needs of a store, in the words of the protocol. The store remembers; it decides nothing.
//!
//! A transaction has two halves, each one round trip: [`Transact::read`] locks the rows and reads the database's time
//! after the locks are held (and asks history once more, where a call may be a repeat), [`Transact::write`] writes what
//! the core judged and commits. Between the two the core judges; nothing else happens while locks are held.

mod asking;
mod columns;
mod database;
mod durability;
mod link;
mod migrate;
mod reader;
mod reading;
mod remembered;
mod row;
mod session;
mod sqlstate;
mod writing;

use std::future::Future;
use std::time::Duration;

use deed_core::action::Action;
use deed_core::event::Event;
use deed_core::id::{ActionKey, RequestId, Token, Version};
use deed_core::judgement::Remembered;
use deed_core::text::{ExternalId, Tool};
use deed_core::time::{Span, Timestamp};

pub use database::{BadAddress, Database};
pub use durability::{Durability, Weakness, durability};
pub use migrate::{MigrateError, Migrated, migrate, up_to_date};
pub use reader::Reader;
pub use session::{Connector, Session};

/// What to look up for one command.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The row to lock.
    pub key: ActionKey,
    /// The call that may be a repeat.
    pub request: RequestId,
    /// The token that the call presents.
    pub token: Option<Token>,
    /// The external id that the call names.
    pub external_id: Option<ExternalId>,
    /// The tool by the call's own specification, for an action that does not exist yet.
    pub tool: Option<Tool>,
}

/// What to do about a row that somebody else holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// Leave it out and say so: one stuck row never holds up its neighbours.
    Skip,
    /// Wait for it this long, alone.
    Wait(Duration),
}

/// The first half of a transaction.
#[derive(Debug)]
pub struct Reading {
    /// The database's time after the locks were held.
    pub now: Timestamp,
    /// How long the database waited for the locks, by its own clock.
    pub waited: Span,
    /// In the order of the lookups.
    pub rows: Vec<Row>,
}

/// One row of a reading.
#[derive(Debug)]
pub enum Row {
    /// No such action.
    Absent(Remembered),
    /// Locked by this transaction. What its token did is remembered where it is not that of the row's own grant.
    Found(Box<Action>, Remembered),
    /// Locked by somebody else.
    Busy,
}

/// The second half of a transaction, for one judged command that changes something.
#[derive(Debug)]
pub struct Write<'a> {
    /// The version that was read; absent for a row to insert.
    pub previous: Option<Version>,
    /// The row as it will be.
    pub next: &'a Action,
    /// History to append.
    pub events: &'a [Event],
    /// An external id that from now on proves this action.
    pub registers: Option<&'a ExternalId>,
}

/// Why a transaction failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else held a row, or a key that they insert just now, for longer than this transaction may wait. It did
    /// not happen.
    #[error("somebody else held the row for longer than could be waited; nothing was written")]
    Busy,
    /// It certainly did not happen: the database said so, or nothing was sent to it.
    #[error("the database refused the transaction ({what}); nothing was written")]
    Determinate {
        /// The SQLSTATE, or what went wrong before.
        what: String,
        /// Whether the same transaction may succeed soon: serialisation failure, deadlock, full or restarting
        /// server. Else one of its commands breaks a constraint.
        transient: bool,
        /// What the driver says.
        #[source]
        source: Option<tokio_postgres::Error>,
    },
    /// It may have happened: the connection was lost, or the wait for the standby was cancelled, during COMMIT.
    #[error("the outcome of the transaction is not known ({what}); it may have been written")]
    Indeterminate {
        /// What went wrong.
        what: String,
        /// What the driver says.
        #[source]
        source: Option<tokio_postgres::Error>,
    },
    /// The stored row does not read as an action: a newer server wrote it, or a hand did.
    #[error("the stored row of {key} cannot be read: {what}")]
    Corrupt {
        /// Which.
        key: String,
        /// What is wrong with it.
        what: String,
    },
}

/// One connection, one transaction at a time. Dropping it in the middle of a transaction rolls back.
pub trait Transact: Send + 'static {
    /// Locks and reads. An error leaves no transaction open.
    fn read(&mut self, lookups: &[Lookup], busy: Busy)
    -> impl Future<Output = Result<Reading, Error>> + Send;

    /// Writes and commits; says which of the writes took place. A fresh row that somebody else inserted meanwhile does
    /// not: its command has to be judged again. `synchronous` asks for a synchronous commit even of nothing: a grant
    /// that was read back may be told only after one.
    fn write(
        &mut self,
        writes: &[Write<'_>],
        synchronous: bool,
    ) -> impl Future<Output = Result<Vec<bool>, Error>> + Send;
}

/// Makes connections for the committer's lanes.
pub trait Connect: Send + Sync + 'static {
    /// A connection.
    type Transact: Transact;

    /// Connects lazily: the first `read` finds out whether the database is there, and every `read` after a loss
    /// connects anew.
    fn connect(&self) -> Self::Transact;
}
