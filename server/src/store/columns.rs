//! Writes, column by column: what each statement of the second half takes. A statement that has nothing to do is not sent.

use deed_core::action::Action;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Columns};
use uuid::Uuid;

use super::reading::Places;
use super::row::{EventColumns, FixedColumns, Parameters, Place, SeenColumns, StandingColumns};
use super::{Error, Write};

type Sent<T> = Result<T, tokio_postgres::Error>;

/// The rows to write and their history.
#[derive(Default)]
pub struct Rows<'a> {
    pub fresh: Fresh<'a>,
    pub changed: Changed<'a>,
    /// Which statement each write went into, in order.
    order: Vec<Kind>,
}

#[derive(Clone, Copy)]
enum Kind {
    Fresh,
    Changed,
}

/// Rows to insert.
#[derive(Default)]
pub struct Fresh<'a> {
    count: i32,
    fixed: FixedColumns<'a>,
    standing: StandingColumns<'a>,
    events: EventColumns<'a>,
}

/// Rows to update.
#[derive(Default)]
pub struct Changed<'a> {
    count: i32,
    seen: SeenColumns<'a>,
    standing: StandingColumns<'a>,
    events: EventColumns<'a>,
}

impl<'a> Rows<'a> {
    /// Sorts writes by statement. `places` are those of the rows that the transaction has locked.
    pub fn of(writes: &[Write<'a>], places: &Places) -> Self {
        let mut rows = Self::default();
        for write in writes {
            let action = write.next;
            rows.order.push(match write.previous {
                None => {
                    let fresh = &mut rows.fresh;
                    fresh.fixed.push(action);
                    fresh.standing.push(action, write.events);
                    append(&mut fresh.events, &mut fresh.count, write);
                    Kind::Fresh
                }
                Some(previous) => {
                    let changed = &mut rows.changed;
                    // A row that was not locked is nowhere, and its write does not take place.
                    let place = places.get(&action.key).copied().unwrap_or(Place::NOWHERE);
                    changed.seen.push(&action.key, place, previous);
                    changed.standing.push(action, write.events);
                    append(&mut changed.events, &mut changed.count, write);
                    Kind::Changed
                }
            });
        }
        rows
    }

    /// Which writes took place, by what the two statements answered.
    pub fn written(&self, inserted: &[Columns], updated: &[Columns]) -> Result<Vec<bool>, Error> {
        let mut inserted = flags(inserted)?.into_iter();
        let mut updated = flags(updated)?.into_iter();
        self.order
            .iter()
            .map(|kind| {
                match kind {
                    Kind::Fresh => inserted.next(),
                    Kind::Changed => updated.next(),
                }
                .ok_or_else(|| unreadable(None))
            })
            .collect()
    }
}

fn append<'a>(events: &mut EventColumns<'a>, count: &mut i32, write: &Write<'a>) {
    *count += 1;
    for event in write.events {
        events.push(*count, write.next, event);
    }
}

impl Fresh<'_> {
    pub async fn insert(&self, client: &Client) -> Sent<Vec<Columns>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let mut parameters = Parameters::new();
        self.fixed.parameters(&mut parameters);
        self.standing.parameters(&mut parameters);
        self.events.parameters(&mut parameters);
        client
            .query_typed(include_str!("sql/insert.sql"), &parameters)
            .await
    }
}

impl Changed<'_> {
    pub async fn update(&self, client: &Client) -> Sent<Vec<Columns>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let mut parameters = Parameters::new();
        self.seen.parameters(&mut parameters);
        self.standing.parameters(&mut parameters);
        self.events.parameters(&mut parameters);
        client
            .query_typed(include_str!("sql/update.sql"), &parameters)
            .await
    }
}

/// One flag for each row of a statement; none where it was not sent.
fn flags(answer: &[Columns]) -> Result<Vec<bool>, Error> {
    match answer.first() {
        None => Ok(Vec::new()),
        Some(row) => row.try_get(0).map_err(|source| unreadable(Some(source))),
    }
}

fn unreadable(source: Option<tokio_postgres::Error>) -> Error {
    Error::Indeterminate {
        what: "the answer to a write could not be read".to_owned(),
        source,
    }
}

/// Results to keep.
#[derive(Default)]
pub struct Results<'a> {
    namespaces: Vec<&'a str>,
    action_ids: Vec<&'a str>,
    effect_ids: Vec<Uuid>,
    results: Vec<&'a [u8]>,
}

impl<'a> Results<'a> {
    pub fn of(writes: &[Write<'a>]) -> Self {
        let mut all = Self::default();
        for write in writes {
            let action = write.next;
            let (Some(effect), Some(result)) = (&action.effect, fresh_result(write)) else {
                continue;
            };
            all.namespaces.push(action.key.namespace.as_str());
            all.action_ids.push(action.key.action_id.as_str());
            all.effect_ids.push(effect.evidence.0);
            all.results.push(result);
        }
        all
    }

    pub async fn keep(&self, client: &Client) -> Sent<()> {
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&self.namespaces, Type::TEXT_ARRAY),
            (&self.action_ids, Type::TEXT_ARRAY),
            (&self.effect_ids, Type::UUID_ARRAY),
            (&self.results, Type::BYTEA_ARRAY),
        ];
        execute(
            client,
            self.results.is_empty(),
            include_str!("sql/keep_results.sql"),
            &parameters,
        )
        .await
    }
}

/// The result, in the write that decides. Later writes of a settled row do not carry its bytes again.
fn fresh_result<'a>(write: &Write<'a>) -> Option<&'a [u8]> {
    let action: &Action = write.next;
    let (effect, result) = (action.effect.as_ref()?, action.result.as_ref()?);
    let decided_now = write.previous.is_none() || write.events.iter().any(|event| event.at == effect.at);
    decided_now.then_some(result.as_slice())
}

/// External ids to register.
#[derive(Default)]
pub struct Registers<'a> {
    namespaces: Vec<&'a str>,
    tools: Vec<&'a str>,
    external_ids: Vec<&'a str>,
    action_ids: Vec<&'a str>,
}

impl<'a> Registers<'a> {
    pub fn of(writes: &[Write<'a>]) -> Self {
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

    pub async fn insert(&self, client: &Client) -> Sent<()> {
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&self.namespaces, Type::TEXT_ARRAY),
            (&self.tools, Type::TEXT_ARRAY),
            (&self.external_ids, Type::TEXT_ARRAY),
            (&self.action_ids, Type::TEXT_ARRAY),
        ];
        execute(
            client,
            self.external_ids.is_empty(),
            include_str!("sql/register.sql"),
            &parameters,
        )
        .await
    }
}

async fn execute(
    client: &Client,
    nothing: bool,
    statement: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Sent<()> {
    if nothing {
        return Ok(());
    }
    client.query_typed(statement, parameters).await.map(drop)
}
