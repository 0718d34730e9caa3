//! The first half: lock, then read the time, then everything that the locks protect. One round trip, and a second where
//! history has to be asked.

use std::collections::{HashMap, HashSet};

use deed_core::action::Action;
use deed_core::id::ActionKey;
use deed_core::judgement::Remembered;
use deed_core::time::Timestamp;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Columns};
use uuid::Uuid;

use super::asking::{Answers, ask};
use super::remembered::{Marks, Question};
use super::row::{At, Damage, Place, read as column, read_action};
use super::sqlstate::{Stage, classify};
use super::{Busy, Error, Lookup, Reading, Row};

/// Where the rows lie that a transaction has locked.
pub type Places = HashMap<ActionKey, Place>;

/// Locks and reads. Tells where the locked rows lie, too.
pub async fn read(client: &Client, lookups: &[Lookup], busy: Busy) -> Result<(Reading, Places), Error> {
    let answers = ask(client, lookups, busy)
        .await
        .map_err(|error| classify(error, Stage::BeforeCommit))?;
    let before = answers
        .opened()
        .ok_or_else(|| odd("the time at which the transaction was opened"))?;
    let mut rows = Rows::gather(&answers)?;
    let question = rows.question(lookups);
    let (marks, results) = futures::join!(question.ask(client), rows.ask_results(client));
    (rows.marks, rows.results) = (marks?, results?);
    let places = rows.places();
    let now = rows.now.ok_or_else(|| odd("the time after the locks"))?;
    let reading = Reading {
        now,
        waited: now.since(before),
        rows: rows.in_order(lookups, busy),
    };
    Ok((reading, places))
}

fn odd(what: &str) -> Error {
    Error::Determinate {
        what: format!("the database did not tell {what}"),
        transient: true,
        source: None,
    }
}

/// A row that is locked now.
struct Locked {
    action: Action,
    place: Place,
    /// The request ids that its history remembers; absent if they are many.
    requests: Option<Vec<Uuid>>,
}

/// Which action the external id of a call proves. Calls are counted from 1.
fn proven(rows: &[Columns]) -> Result<HashMap<i64, ActionKey>, Error> {
    let mut proven = HashMap::new();
    for row in rows {
        let key = key(row)?;
        proven.insert(column(row, "nth").map_err(corrupt(&key))?, key);
    }
    Ok(proven)
}

/// The answers by key and by call.
#[derive(Default)]
struct Rows {
    now: Option<Timestamp>,
    locked: HashMap<ActionKey, Locked>,
    /// What exists, where not everything could be locked.
    existing: HashSet<ActionKey>,
    results: HashMap<ActionKey, Vec<u8>>,
    marks: HashMap<i64, Marks>,
    proven: HashMap<i64, ActionKey>,
}

impl Rows {
    fn gather(answers: &Answers) -> Result<Self, Error> {
        let mut rows = Self {
            locked: HashMap::with_capacity(answers.rows.len()),
            proven: proven(&answers.proven)?,
            ..Self::default()
        };
        for row in &answers.rows {
            if let Ok(Some(At(now))) = row.try_get("now") {
                rows.now = Some(now);
                continue;
            }
            let key = key(row)?;
            match column::<Option<Place>>(row, "place").map_err(corrupt(&key))? {
                Some(place) => {
                    let action = read_action(row)?;
                    let requests = column(row, "requests").map_err(corrupt(&key))?;
                    rows.locked.insert(
                        key,
                        Locked {
                            action,
                            place,
                            requests,
                        },
                    );
                }
                None => {
                    rows.existing.insert(key);
                }
            }
        }
        Ok(rows)
    }

    fn places(&self) -> Places {
        let place = |(key, row): (&ActionKey, &Locked)| (key.clone(), row.place);
        self.locked.iter().map(place).collect()
    }

    fn question<'a>(&self, lookups: &'a [Lookup]) -> Question<'a> {
        Question::of(lookups, |key| {
            let row = self.locked.get(key)?;
            Some((&row.action, row.requests.as_deref()))
        })
    }

    /// Only settled actions have a result, and most calls settle one rather than find it.
    async fn ask_results(&self, client: &Client) -> Result<HashMap<ActionKey, Vec<u8>>, Error> {
        let (namespaces, action_ids): (Vec<_>, Vec<_>) = self
            .locked
            .values()
            .filter(|row| row.action.effect.is_some())
            .map(|row| &row.action.key)
            .map(|key| (key.namespace.as_str(), key.action_id.as_str()))
            .unzip();
        if namespaces.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: &[(&(dyn ToSql + Sync), Type)] =
            &[(&namespaces, Type::TEXT_ARRAY), (&action_ids, Type::TEXT_ARRAY)];
        let rows = client
            .query_typed(include_str!("sql/results.sql"), keys)
            .await
            .map_err(|error| classify(error, Stage::BeforeCommit))?;
        let result = |row| {
            let key = key(row)?;
            let result = column(row, "result").map_err(corrupt(&key))?;
            Ok((key, result))
        };
        rows.iter().map(result).collect()
    }

    fn in_order(mut self, lookups: &[Lookup], busy: Busy) -> Vec<Row> {
        let mut seen = HashSet::with_capacity(lookups.len());
        let mut rows = Vec::with_capacity(lookups.len());
        for (nth, lookup) in (1..).zip(lookups) {
            // A key that occurs twice is locked by the first; the second has to wait for its outcome.
            if !seen.insert(&lookup.key) {
                rows.push(Row::Busy);
                continue;
            }
            let external_id = self.proven.remove(&nth);
            rows.push(match self.locked.remove(&lookup.key) {
                Some(Locked { mut action, .. }) => {
                    action.result = self.results.remove(&lookup.key);
                    let marks = self.marks.remove(&nth).unwrap_or_default();
                    let remembered = Remembered {
                        request: marks.request(),
                        token: marks.token(&action),
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
        rows
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
