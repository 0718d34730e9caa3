//! The second half: write what was judged, and commit. One round trip.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::{Client, Row as Columns};

use super::columns::{Registers, Results, Rows};
use super::link::Link;
use super::reading::Places;
use super::sqlstate::{Stage, classify};
use super::{Error, Write};

/// What became of the second half.
#[derive(Debug)]
pub struct Outcome {
    /// Which of the writes took place.
    pub written: Result<Vec<bool>, Error>,
    /// The transaction is over, one way or the other, and the connection is free.
    pub over: bool,
}

/// Ends a transaction that only read. Undone, it costs no flush: the locks that it took are in the log, and a COMMIT would
/// wait for them. What was read was committed by others, and stays true.
pub async fn leave(link: &Link) -> Outcome {
    let ended = link.client().batch_execute("ROLLBACK").await;
    Outcome {
        over: ended.is_ok(),
        written: ended
            .map(|()| Vec::new())
            .map_err(|error| classify(error, Stage::BeforeCommit)),
    }
}

/// Writes and commits. `places` are those of the rows that this transaction has locked.
pub async fn write(link: &Link, places: &Places, writes: &[Write<'_>], synchronous: bool) -> Outcome {
    let rows = Rows::of(writes, places);
    let results = Results::of(writes);
    let registers = Registers::of(writes);

    drop(link.take_warning());
    let client = link.client();
    let progress = Progress::default();
    // SUBTLE: `join!` starts them in this order and waits for all of them, so that the error that counts is the first in
    // this order, not the first to be noticed. Nothing in here cancels a COMMIT.
    let (inserted, updated, kept, registered, read_back, committed) = futures::join!(
        progress.before_commit(rows.fresh.insert(client)),
        progress.before_commit(rows.changed.update(client)),
        progress.before_commit(results.keep(client)),
        progress.before_commit(registers.insert(client)),
        progress.before_commit(read_back(client, synchronous)),
        progress.commit(client),
    );
    let over = settled(&committed);
    let earlier = inserted
        .and_then(|inserted| updated.map(|updated| (inserted, updated)))
        .and_then(|both| kept.and(registered).and(read_back).map(|()| both));
    Outcome {
        written: earlier
            .and_then(|both| committed.map(|()| both))
            .and_then(|(inserted, updated)| unwarned(link, &rows, &inserted, &updated)),
        over,
    }
}

/// Whether COMMIT has ended the transaction, one way or the other. After a word of Postgres that was argued to be a refusal
/// the session has no transaction any more and is in step; an outcome that is not known says nothing about either.
fn settled(committed: &Result<(), Error>) -> bool {
    match committed {
        Ok(()) | Err(Error::Busy) => true,
        // SUBTLE: without a source no COMMIT was sent, and the transaction is open still.
        Err(Error::Determinate { source, .. }) => source.is_some(),
        Err(Error::Indeterminate { .. } | Error::Corrupt { .. }) => false,
    }
}

/// All earlier statements succeeded, so the COMMIT was no rollback. But Postgres commits here at once and only then waits
/// for the standby; if that wait is cancelled, it warns and goes on.
fn unwarned(
    link: &Link,
    rows: &Rows<'_>,
    inserted: &[Columns],
    updated: &[Columns],
) -> Result<Vec<bool>, Error> {
    match link.take_warning() {
        Some(warning) => Err(Error::Indeterminate {
            what: format!("Postgres warned during COMMIT: {warning}"),
            source: None,
        }),
        None => rows.written(inserted, updated),
    }
}

/// How far the statements have got on their way out.
#[derive(Default)]
struct Progress {
    commit_sent: AtomicBool,
    failed_unsent: AtomicBool,
}

impl Progress {
    async fn before_commit<T>(
        &self,
        statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        statement.await.map_err(|error| {
            if self.commit_sent.load(Ordering::Relaxed) {
                classify(error, Stage::CommitFollows)
            } else {
                self.failed_unsent.store(true, Ordering::Relaxed);
                unsendable(error)
            }
        })
    }

    async fn commit(&self, client: &Client) -> Result<(), Error> {
        // SUBTLE: a statement that could not even be sent leaves no failed transaction behind: this COMMIT would commit
        // the rest without it.
        if self.failed_unsent.load(Ordering::Relaxed) {
            return Err(Error::Determinate {
                what: "an earlier statement was not sent".to_owned(),
                transient: false,
                source: None,
            });
        }
        self.commit_sent.store(true, Ordering::Relaxed);
        client
            .batch_execute("COMMIT")
            .await
            .map_err(|error| classify(error, Stage::Commit))
    }
}

/// Failed before it was sent: the connection was closed already, or a value does not fit its column.
fn unsendable(error: tokio_postgres::Error) -> Error {
    Error::Determinate {
        what: "a statement could not be sent".to_owned(),
        transient: error.is_closed(),
        source: Some(error),
    }
}

async fn read_back(client: &Client, synchronous: bool) -> Result<(), tokio_postgres::Error> {
    if synchronous {
        client
            .execute_typed(include_str!("sql/read_back.sql"), &[])
            .await?;
    }
    Ok(())
}
