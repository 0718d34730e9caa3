//! The statements of the first half, sent together and answered together: open the transaction, lock, look around.

use std::time::Duration;

use deed_core::text::{ExternalId, Tool};
use deed_core::time::Timestamp;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Columns, SimpleQueryMessage};

use super::session::INSERT_WAIT;
use super::{Busy, Lookup};

/// A server that does not come back with its second half within this time is frozen or gone. Far more than the core
/// takes to judge a batch.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// The column of `begin.sql` that tells the time.
const OPENED: usize = 4;

/// What the database answered.
pub struct Answers {
    opened: Vec<SimpleQueryMessage>,
    /// The locked rows, those of others, and the time.
    pub rows: Vec<Columns>,
    pub proven: Vec<Columns>,
}

impl Answers {
    /// When the transaction was opened, by the database's clock.
    pub fn opened(&self) -> Option<Timestamp> {
        let last = self.opened.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(OPENED),
            _ => None,
        });
        last?.parse().ok().map(Timestamp::from_micros)
    }
}

/// The statement that opens a transaction.
fn begin(busy: Busy) -> String {
    let wait = match busy {
        Busy::Skip => INSERT_WAIT,
        Busy::Wait(wait) => wait,
    };
    // Zero would mean: for ever.
    let wait = wait.as_millis().max(1);
    include_str!("sql/begin.sql")
        .replace("{lock_timeout}", &format!("{wait}ms"))
        .replace("{idle_timeout}", &format!("{}ms", IDLE_LIMIT.as_millis()))
}

/// All statements at once. They run in the order in which they stand here.
pub async fn ask(client: &Client, lookups: &[Lookup], busy: Busy) -> Result<Answers, tokio_postgres::Error> {
    let lock = match busy {
        Busy::Skip => include_str!("sql/lock_free.sql"),
        Busy::Wait(_) => include_str!("sql/lock.sql"),
    };
    let begin = begin(busy);
    let (namespaces, action_ids) = keys(lookups);
    let keys: &[(&(dyn ToSql + Sync), Type)] =
        &[(&namespaces, Type::TEXT_ARRAY), (&action_ids, Type::TEXT_ARRAY)];
    // SUBTLE: `join!` starts them in this order and waits for all of them, so that the error that counts is the first
    // in this order (the lock was not to be had), not the first to be noticed (the transaction had failed).
    let (opened, rows, proven) = futures::join!(
        client.simple_query(&begin),
        client.query_typed(lock, keys),
        ask_proven(client, lookups),
    );
    Ok(Answers {
        opened: opened?,
        rows: rows?,
        proven: proven?,
    })
}

async fn ask_proven(client: &Client, lookups: &[Lookup]) -> Result<Vec<Columns>, tokio_postgres::Error> {
    if lookups.iter().all(|lookup| lookup.external_id.is_none()) {
        return Ok(Vec::new());
    }
    let (namespaces, action_ids) = keys(lookups);
    let tools: Vec<_> = lookups
        .iter()
        .map(|lookup| lookup.tool.as_ref().map(Tool::as_str))
        .collect();
    let external_ids: Vec<_> = lookups
        .iter()
        .map(|lookup| lookup.external_id.as_ref().map(ExternalId::as_str))
        .collect();
    let named: &[(&(dyn ToSql + Sync), Type)] = &[
        (&namespaces, Type::TEXT_ARRAY),
        (&action_ids, Type::TEXT_ARRAY),
        (&tools, Type::TEXT_ARRAY),
        (&external_ids, Type::TEXT_ARRAY),
    ];
    client.query_typed(include_str!("sql/proven.sql"), named).await
}

fn keys(lookups: &[Lookup]) -> (Vec<&str>, Vec<&str>) {
    lookups
        .iter()
        .map(|lookup| (lookup.key.namespace.as_str(), lookup.key.action_id.as_str()))
        .unzip()
}
