//! The second half: write what was judged, and commit. One round trip.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Columns};

use super::link::Link;
use super::row::{ActionColumns, EventColumns};
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

/// Writes and commits.
pub async fn write(link: &Link, writes: &[Write<'_>], synchronous: bool) -> Outcome {
    let mut actions = ActionColumns::default();
    let mut events = EventColumns::default();
    for write in writes {
        actions.push(write);
        for event in write.events {
            events.push(&write.next.key, event);
        }
    }
    let mut parameters = actions.parameters();
    parameters.extend(events.parameters());
    let registers = Registers::of(writes);

    drop(link.take_warning());
    let client = link.client();
    let progress = Progress::default();
    // SUBTLE: `join!` starts them in this order and waits for all of them, so that the error that counts is the first in
    // this order, not the first to be noticed. Nothing in here cancels a COMMIT.
    let (rows, registered, read_back, committed) = futures::join!(
        progress.before_commit(write_rows(client, !writes.is_empty(), &parameters)),
        progress.before_commit(registers.insert(client)),
        progress.before_commit(read_back(client, synchronous)),
        progress.commit(client),
    );
    let over = settled(&committed);
    let earlier = rows.and_then(|rows| registered.and(read_back).map(|()| rows));
    Outcome {
        written: earlier
            .and_then(|rows| committed.map(|()| rows))
            .and_then(|rows| unwarned(link, writes, &rows)),
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
fn unwarned(link: &Link, writes: &[Write<'_>], rows: &[Columns]) -> Result<Vec<bool>, Error> {
    match link.take_warning() {
        Some(warning) => Err(Error::Indeterminate {
            what: format!("Postgres warned during COMMIT: {warning}"),
            source: None,
        }),
        None => written(writes, rows),
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

async fn write_rows(
    client: &Client,
    any: bool,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Columns>, tokio_postgres::Error> {
    if any {
        client
            .query_typed(include_str!("sql/write.sql"), parameters)
            .await
    } else {
        Ok(Vec::new())
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

fn written(writes: &[Write<'_>], rows: &[Columns]) -> Result<Vec<bool>, Error> {
    let mut keys = HashSet::new();
    for row in rows {
        let unreadable = |source| Error::Indeterminate {
            what: "the answer to a write could not be read".to_owned(),
            source: Some(source),
        };
        let namespace: &str = row.try_get(0).map_err(unreadable)?;
        let action_id: &str = row.try_get(1).map_err(unreadable)?;
        keys.insert((namespace, action_id));
    }
    let took_place = |write: &Write<'_>| {
        let key = &write.next.key;
        keys.contains(&(key.namespace.as_str(), key.action_id.as_str()))
    };
    Ok(writes.iter().map(took_place).collect())
}

/// External ids to register, column by column.
#[derive(Default)]
struct Registers<'a> {
    namespaces: Vec<&'a str>,
    tools: Vec<&'a str>,
    external_ids: Vec<&'a str>,
    action_ids: Vec<&'a str>,
}

impl<'a> Registers<'a> {
    fn of(writes: &[Write<'a>]) -> Self {
        let mut all = Self::default();
        for write in writes {
            let Some(external_id) = write.registers else {
                continue;
            };
            all.namespaces.push(write.next.key.namespace.as_str());
            all.tools.push(write.next.spec.tool.as_str());
            all.external_ids.push(external_id.as_str());
            all.action_ids.push(write.next.key.action_id.as_str());
        }
        all
    }

    async fn insert(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        if self.external_ids.is_empty() {
            return Ok(());
        }
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&self.namespaces, Type::TEXT_ARRAY),
            (&self.tools, Type::TEXT_ARRAY),
            (&self.external_ids, Type::TEXT_ARRAY),
            (&self.action_ids, Type::TEXT_ARRAY),
        ];
        client
            .execute_typed(include_str!("sql/register.sql"), &parameters)
            .await?;
        Ok(())
    }
}
