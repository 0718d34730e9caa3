//! Reading for screens and the sweeper, on a few connections of its own, so that a slow list never holds up a claim.
//!
//! It locks nothing and decides nothing. Which listed actions wait for a person is the core's answer, row by row.

mod list;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::event::Event;
use deed_core::id::ActionKey;
use deed_core::text::{ExternalId, Namespace, Tool};
use deed_core::time::Timestamp;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{NoTls, Row};

use super::database::Database;
use super::row::{At, read_action, read_event, read_key};
use super::sqlstate::{Stage, classify, unconnected};
use super::{Error, migrate};
use crate::service;
use crate::service::ledger::{Ledger, ListFilter, Page, Position};
use crate::sweeper::Upkeep;

/// Screens are few and their reads short; each connection costs the database some megabytes.
const CONNECTIONS: usize = 4;

/// A screen that has waited this long shows an error instead; what is repeated is a read.
const PATIENCE: Duration = Duration::from_secs(5);

/// When a screen should ask again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Reads what is stored.
#[derive(Clone)]
pub struct Reader {
    pool: Pool,
    protocol: Arc<Protocol>,
}

type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl Reader {
    /// For this database. Connects when it is asked.
    #[expect(
        clippy::expect_used,
        reason = "a pool without timeouts of its own is always built; ours are around each read"
    )]
    pub fn new(database: Database) -> Self {
        let manager = ManagerConfig {
            // Any other method runs a statement before each use; a connection that has died unseen fails one read.
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(database.config().clone(), NoTls, manager);
        let pool = Pool::builder(manager).max_size(CONNECTIONS).build();
        Self {
            pool: pool.expect("only timeouts can make it fail"),
            protocol: Arc::new(Protocol::default()),
        }
    }

    /// Judges which actions wait for a person by this protocol instead of the default one.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self {
            protocol: Arc::new(protocol),
            ..self
        }
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// If it does not, within a few seconds.
    pub async fn ping(&self) -> Result<(), Error> {
        self.now().await.map(drop)
    }

    /// The database's time.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        let rows = self.ask(include_str!("../sql/now.sql"), &[]).await?;
        first(&rows, "now").map(|At(now)| now)
    }

    async fn ask(&self, statement: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, Error> {
        let asking = async {
            let client = self.client().await?;
            client
                .query_typed(statement, parameters)
                .await
                .map_err(|error| classify(error, Stage::BeforeCommit))
        };
        tokio::time::timeout(PATIENCE, asking)
            .await
            .unwrap_or_else(|_elapsed| Err(silent()))
    }

    async fn client(&self) -> Result<Object, Error> {
        self.pool.get().await.map_err(|error| match error {
            deadpool_postgres::PoolError::Backend(error) => unconnected(error),
            other => Error::Determinate {
                what: other.to_string(),
                transient: true,
                source: None,
            },
        })
    }

    async fn read_one(&self, key: &ActionKey) -> Result<Option<(Action, Timestamp)>, Error> {
        let (namespace, action_id) = (key.namespace.as_str(), key.action_id.as_str());
        let parameters: Parameters<'_> = &[(&namespace, Type::TEXT), (&action_id, Type::TEXT)];
        let rows = self.ask(include_str!("../sql/action.sql"), parameters).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut action = read_action(row)?;
        action.result = first(&rows, "result")?;
        Ok(Some((action, first(&rows, "now").map(|At(now)| now)?)))
    }

    async fn read_events(&self, key: &ActionKey, after: u32, limit: u32) -> Result<Vec<Event>, Error> {
        let (namespace, action_id) = (key.namespace.as_str(), key.action_id.as_str());
        let (after, limit) = (i64::from(after), i64::from(limit));
        let parameters: Parameters<'_> = &[
            (&namespace, Type::TEXT),
            (&action_id, Type::TEXT),
            (&after, Type::INT8),
            (&limit, Type::INT8),
        ];
        let rows = self.ask(include_str!("../sql/events.sql"), parameters).await?;
        rows.iter().map(read_event).collect()
    }

    async fn read_external(
        &self,
        namespace: &Namespace,
        tool: &Tool,
        external_id: &ExternalId,
    ) -> Result<Option<ActionKey>, Error> {
        let (namespace, tool, external_id) = (namespace.as_str(), tool.as_str(), external_id.as_str());
        let parameters: Parameters<'_> = &[
            (&namespace, Type::TEXT),
            (&tool, Type::TEXT),
            (&external_id, Type::TEXT),
        ];
        let rows = self
            .ask(include_str!("../sql/find_external.sql"), parameters)
            .await?;
        rows.first().map(key_of).transpose()
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("pool", &self.pool.status())
            .finish_non_exhaustive()
    }
}

impl Ledger for Reader {
    async fn action(&self, key: &ActionKey) -> Result<Option<(Action, Timestamp)>, service::Error> {
        self.read_one(key).await.map_err(unavailable)
    }

    async fn events(&self, key: &ActionKey, after: u32, limit: u32) -> Result<Vec<Event>, service::Error> {
        self.read_events(key, after, limit).await.map_err(unavailable)
    }

    async fn list(
        &self,
        filter: &ListFilter,
        after: Option<&Position>,
        limit: u32,
    ) -> Result<Page, service::Error> {
        list::list(self, filter, after, limit).await.map_err(unavailable)
    }

    async fn find_external(
        &self,
        namespace: &Namespace,
        tool: &Tool,
        external_id: &ExternalId,
    ) -> Result<Option<ActionKey>, service::Error> {
        self.read_external(namespace, tool, external_id)
            .await
            .map_err(unavailable)
    }
}

impl Upkeep for Reader {
    async fn lapsed(&self, limit: u32) -> Result<Vec<ActionKey>, Error> {
        let limit = i64::from(limit);
        let rows = self
            .ask(include_str!("../sql/lapsed.sql"), &[(&limit, Type::INT8)])
            .await?;
        rows.iter().map(key_of).collect()
    }

    async fn prepare_days(&self) -> Result<(), Error> {
        let client = self.client().await?;
        let prepared = migrate::prepare_days(&client).await;
        if prepared.is_err() {
            // It may be in the middle of a transaction.
            drop(Object::take(client));
        }
        prepared.map_err(|error| classify(error, Stage::BeforeCommit))
    }
}

/// What the service says when a read fails. Nothing has happened, whatever the store calls it.
fn unavailable(error: Error) -> service::Error {
    if let Error::Corrupt { key, what } = &error {
        tracing::error!(action = %key, %what, "a stored row cannot be read");
    }
    service::Error::StoreUnavailable {
        why: error.to_string(),
        retry_after: RETRY_AFTER,
    }
}

fn silent() -> Error {
    Error::Determinate {
        what: format!("no answer to a read within {PATIENCE:?}"),
        transient: true,
        source: None,
    }
}

fn key_of(row: &Row) -> Result<ActionKey, Error> {
    read_key(row).map_err(|damage| Error::Corrupt {
        key: "a row without a readable key".to_owned(),
        what: damage.0,
    })
}

/// One column of the first row.
fn first<'a, T: tokio_postgres::types::FromSql<'a>>(rows: &'a [Row], column: &str) -> Result<T, Error> {
    let odd = |source| Error::Determinate {
        what: format!("the database did not tell {column}"),
        transient: true,
        source,
    };
    rows.first()
        .ok_or_else(|| odd(None))?
        .try_get(column)
        .map_err(|error| odd(Some(error)))
}
