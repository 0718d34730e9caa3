//! The first half: lock, then read the time, then everything that the locks protect. One round trip.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use deed_core::action::Action;
use deed_core::id::{ActionKey, Token};
use deed_core::judgement::Remembered;
use deed_core::text::{ExternalId, Tool};
use deed_core::time::Timestamp;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Columns, SimpleQueryMessage};
use uuid::Uuid;

use super::remembered::{self, Mark};
use super::row::{At, Damage, bigint, read as column, read_action};
use super::session::INSERT_WAIT;
use super::sqlstate::{Stage, classify};
use super::{Busy, Error, Lookup, Reading, Row};

/// A server that does not come back with its second half within this time is frozen or gone. Far more than the core
/// takes to judge a batch.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

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

/// Locks and reads.
pub async fn read(client: &Client, lookups: &[Lookup], busy: Busy) -> Result<Reading, Error> {
    let asked = Asked::new(lookups);
    let answers = asked
        .ask(client, busy)
        .await
        .map_err(|error| classify(error, Stage::BeforeCommit))?;
    let before =
        opened(&answers.opened).ok_or_else(|| odd("the time at which the transaction was opened"))?;
    let now = answers
        .now
        .first()
        .and_then(|row| row.try_get::<_, At>("now").ok())
        .ok_or_else(|| odd("the time after the locks"))?
        .0;
    let rows = Rows::gather(&answers)?.in_order(lookups, busy)?;
    Ok(Reading {
        now,
        waited: now.since(before),
        rows,
    })
}

fn odd(what: &str) -> Error {
    Error::Determinate {
        what: format!("the database did not tell {what}"),
        transient: true,
        source: None,
    }
}

/// The last row that opening the transaction answered with.
fn opened(messages: &[SimpleQueryMessage]) -> Option<Timestamp> {
    let last = messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    last?.parse().ok().map(Timestamp::from_micros)
}

/// The lookups, column by column.
struct Asked<'a> {
    namespaces: Vec<&'a str>,
    action_ids: Vec<&'a str>,
    requests: Vec<Uuid>,
    tokens: Vec<Option<i64>>,
    tools: Vec<Option<&'a str>>,
    external_ids: Vec<Option<&'a str>>,
}

/// What the database answered.
struct Answers {
    opened: Vec<SimpleQueryMessage>,
    locked: Vec<Columns>,
    now: Vec<Columns>,
    existing: Vec<Columns>,
    remembered: Vec<Columns>,
    owners: Vec<Columns>,
    results: Vec<Columns>,
}

impl<'a> Asked<'a> {
    fn new(lookups: &'a [Lookup]) -> Self {
        let token = |lookup: &Lookup| lookup.token.map(|token: Token| bigint(token.number()));
        Self {
            namespaces: lookups
                .iter()
                .map(|lookup| lookup.key.namespace.as_str())
                .collect(),
            action_ids: lookups
                .iter()
                .map(|lookup| lookup.key.action_id.as_str())
                .collect(),
            requests: lookups.iter().map(|lookup| lookup.request.0).collect(),
            tokens: lookups.iter().map(token).collect(),
            tools: lookups
                .iter()
                .map(|lookup| lookup.tool.as_ref().map(Tool::as_str))
                .collect(),
            external_ids: lookups
                .iter()
                .map(|lookup| lookup.external_id.as_ref().map(ExternalId::as_str))
                .collect(),
        }
    }

    /// All statements at once. They run in the order in which they stand here.
    async fn ask(&self, client: &Client, busy: Busy) -> Result<Answers, tokio_postgres::Error> {
        let (lock, existing) = match busy {
            Busy::Skip => (
                include_str!("sql/lock_skip.sql"),
                Some(include_str!("sql/existing.sql")),
            ),
            Busy::Wait(_) => (include_str!("sql/lock_wait.sql"), None),
        };
        let names_external = self.external_ids.iter().any(Option::is_some);
        let owners = names_external.then_some(include_str!("sql/owners.sql"));
        let begin = begin(busy);
        let keys = &[text(&self.namespaces), text(&self.action_ids)];
        let history = &[
            text(&self.namespaces),
            text(&self.action_ids),
            (&self.requests as &(dyn ToSql + Sync), Type::UUID_ARRAY),
            (&self.tokens, Type::INT8_ARRAY),
        ];
        let named = &[
            text(&self.namespaces),
            text(&self.action_ids),
            (&self.tools as &(dyn ToSql + Sync), Type::TEXT_ARRAY),
            (&self.external_ids, Type::TEXT_ARRAY),
        ];
        // SUBTLE: `join!` starts them in this order and waits for all of them, so that the error that counts is the first
        // in this order (the lock was not to be had), not the first to be noticed (the transaction had failed).
        let (opened, locked, now, existing, remembered, owners, results) = futures::join!(
            client.simple_query(&begin),
            client.query_typed(lock, keys),
            client.query_typed(include_str!("sql/now.sql"), &[]),
            maybe(client, existing, keys),
            client.query_typed(include_str!("sql/remembered.sql"), history),
            maybe(client, owners, named),
            client.query_typed(include_str!("sql/results.sql"), keys),
        );
        Ok(Answers {
            opened: opened?,
            locked: locked?,
            now: now?,
            existing: existing?,
            remembered: remembered?,
            owners: owners?,
            results: results?,
        })
    }
}

// Generic in the column: spelled as a `Vec`, it makes clippy 1.95 panic in its `ptr_arg` check.
fn text<T: ToSql + Sync>(column: &T) -> (&(dyn ToSql + Sync), Type) {
    (column, Type::TEXT_ARRAY)
}

async fn maybe(
    client: &Client,
    statement: Option<&str>,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Columns>, tokio_postgres::Error> {
    match statement {
        Some(statement) => client.query_typed(statement, parameters).await,
        None => Ok(Vec::new()),
    }
}

/// The answers by key and by call.
struct Rows {
    locked: HashMap<ActionKey, Action>,
    existing: HashSet<ActionKey>,
    marks: HashMap<i64, Vec<Mark>>,
    owners: HashMap<i64, ActionKey>,
}

impl Rows {
    fn gather(answers: &Answers) -> Result<Self, Error> {
        let mut locked = HashMap::new();
        for row in &answers.locked {
            let action = read_action(row)?;
            locked.insert(action.key.clone(), action);
        }
        for row in &answers.results {
            if let Some(action) = locked.get_mut(&key(row)?) {
                action.result = Some(column(row, "result").map_err(corrupt(&action.key))?);
            }
        }
        let mut marks: HashMap<i64, Vec<Mark>> = HashMap::new();
        for row in &answers.remembered {
            let mark = Mark::read(row).map_err(|Damage(what)| Error::Corrupt {
                key: "a row of history".to_owned(),
                what,
            })?;
            marks.entry(mark.nth).or_default().push(mark);
        }
        let mut owners = HashMap::new();
        for row in &answers.owners {
            let owner = key(row)?;
            owners.insert(column(row, "nth").map_err(corrupt(&owner))?, owner);
        }
        Ok(Self {
            locked,
            existing: answers.existing.iter().map(key).collect::<Result<_, _>>()?,
            marks,
            owners,
        })
    }

    fn in_order(mut self, lookups: &[Lookup], busy: Busy) -> Result<Vec<Row>, Error> {
        let mut seen = HashSet::new();
        let mut rows = Vec::with_capacity(lookups.len());
        for (nth, lookup) in (1..).zip(lookups) {
            // A key that occurs twice is locked by the first; the second has to wait for its outcome.
            if !seen.insert(&lookup.key) {
                rows.push(Row::Busy);
                continue;
            }
            let marks = self.marks.remove(&nth).unwrap_or_default();
            let external_id = self.owners.remove(&nth);
            rows.push(match self.locked.remove(&lookup.key) {
                Some(action) => {
                    let remembered = Remembered {
                        request: remembered::request(&marks),
                        token: remembered::token(&marks, &action),
                        external_id,
                    };
                    Row::Found(Box::new(action), remembered)
                }
                None if busy == Busy::Skip && self.existing.contains(&lookup.key) => Row::Busy,
                None => Row::Absent(Remembered {
                    request: None,
                    token: None,
                    external_id,
                }),
            });
        }
        Ok(rows)
    }
}

fn corrupt(key: &ActionKey) -> impl FnOnce(Damage) -> Error {
    let key = format!("{}/{}", key.namespace, key.action_id);
    move |Damage(what)| Error::Corrupt { key, what }
}

fn key(row: &Columns) -> Result<ActionKey, Error> {
    super::row::read_key(row).map_err(|Damage(what)| Error::Corrupt {
        key: "a row without a readable key".to_owned(),
        what,
    })
}
