//! Brings a database to this server's schema. Any number of servers may start at once, also through a transaction pooler.
//!
//! refinery keeps the list of what has been applied and takes no lock. Here everything pending is applied in one
//! transaction under an advisory lock that ends with it. The lock is *tried* again and again: a server that waited inside
//! the database would hold a pooler's connection, perhaps the one that the lock's holder needs.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use refinery::{Migration, Runner};
use refinery_core::AsyncMigrate;
use refinery_core::traits::r#async::{AsyncQuery, AsyncTransaction};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::database::Database;
use super::link::Link;

mod embedded {
    refinery::embed_migrations!("../migrations");
}

/// Where refinery keeps its list. Its own default, so that its command-line tool finds it.
const LIST: &str = "refinery_schema_history";

/// Tries for the lock: 50 ms, doubling to 1 s, for about a minute. A migration that takes longer is run by hand first
/// (`deed-server migrate`), and the servers then find nothing pending.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const TRIES: usize = 64;

/// History partitions are made this many days ahead: a sweeper that is down for a long weekend leaves no gap.
const DAYS_AHEAD: i32 = 7;

/// What migrating did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Migrated {
    /// The migrations that this call applied, in order; empty where nothing was pending.
    pub applied: Vec<String>,
}

/// Why the schema is not what this server needs.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// No connection, or it was lost, or the account may not do this. Nothing has been applied.
    #[error("cannot look at or change the tables of {database}: the database refused, or did not answer")]
    Connection {
        /// Which database.
        database: String,
        /// What the driver says.
        #[source]
        source: tokio_postgres::Error,
    },
    /// Something is pending, and this server was told to leave the tables as they are.
    #[error(
        "the tables of {database} are not what this server needs; pending: {}; run `deed-server migrate` on it first, \
         or serve without --no-migrate", pending.join(", ")
    )]
    Pending {
        /// Which database.
        database: String,
        /// The migrations that are not applied, or were applied in another form, in order.
        pending: Vec<String>,
    },
    /// Another server has been migrating for a minute.
    #[error(
        "cannot migrate {database}: another server holds the migration lock; wait for it, \
         or look for a session in pg_locks with locktype 'advisory' and classid {}", LOCK.0
    )]
    Locked {
        /// Which database.
        database: String,
    },
    /// A migration failed, or one that was applied has been changed since. Nothing has been applied.
    #[error("cannot migrate {database}; nothing was applied")]
    Refused {
        /// Which database.
        database: String,
        /// What refinery says.
        #[source]
        source: refinery::Error,
    },
}

/// "deed", and 1 for migrating (2 is making partitions).
const LOCK: (i32, i32) = (0x6465_6564, 1);

/// Applies what is pending, and makes the next days' partitions. Takes no lock where nothing is pending.
///
/// # Errors
/// See [`MigrateError`]; the schema is then as it was.
pub async fn migrate(database: &Database) -> Result<Migrated, MigrateError> {
    let lost = |source| MigrateError::Connection {
        database: database.to_string(),
        source,
    };
    let runner = runner();
    let mut link = Link::open(database).await.map_err(lost)?;
    let applied = if pending(link.client(), &runner).await.map_err(lost)?.is_empty() {
        Vec::new()
    } else {
        apply(database, &mut link, &runner).await?
    };
    prepare_days(link.client()).await.map_err(lost)?;
    Ok(Migrated { applied })
}

/// Makes sure that nothing is pending, and changes nothing.
///
/// # Errors
/// [`MigrateError::Pending`] with what is pending; [`MigrateError::Connection`] if that cannot be told.
pub async fn up_to_date(database: &Database) -> Result<(), MigrateError> {
    let lost = |source| MigrateError::Connection {
        database: database.to_string(),
        source,
    };
    let link = Link::open(database).await.map_err(lost)?;
    let pending = pending(link.client(), &runner()).await.map_err(lost)?;
    if pending.is_empty() {
        return Ok(());
    }
    Err(MigrateError::Pending {
        database: database.to_string(),
        pending,
    })
}

fn runner() -> Runner {
    // A server of the version before starts on a newer schema: migrations only add until nobody needs the old.
    embedded::migrations::runner()
        .set_abort_missing(false)
        .set_abort_divergent(true)
}

/// The migrations of this server that are not in the list, or are there as others, which refinery will refuse.
async fn pending(client: &Client, runner: &Runner) -> Result<Vec<String>, tokio_postgres::Error> {
    let statement = format!("SELECT version, checksum FROM {LIST}");
    let rows = match client.query_typed(&statement, &[]).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Vec::new(),
        answered => answered?,
    };
    let mut listed = HashSet::new();
    for row in &rows {
        listed.insert((row.try_get::<_, i32>(0)?, row.try_get::<_, String>(1)?));
    }
    let known =
        |migration: &Migration| listed.contains(&(migration.version(), migration.checksum().to_string()));
    let migrations = runner.get_migrations().iter();
    let missing = migrations.filter(|migration| !known(migration));
    Ok(missing.map(ToString::to_string).collect())
}

async fn apply(database: &Database, link: &mut Link, runner: &Runner) -> Result<Vec<String>, MigrateError> {
    let lost = |source| MigrateError::Connection {
        database: database.to_string(),
        source,
    };
    let backoff = ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_max_times(TRIES);
    let client = link.client();
    let try_lock = || async { lock(client).await };
    match try_lock
        .retry(backoff)
        .when(|error| matches!(error, Taken::BySomebodyElse))
        .await
    {
        Ok(()) => {}
        Err(Taken::BySomebodyElse) => {
            return Err(MigrateError::Locked {
                database: database.to_string(),
            });
        }
        Err(Taken::Failed(source)) => return Err(lost(source)),
    }
    let mut transaction = Locked { client };
    match runner.run_async(&mut transaction).await {
        Ok(report) => {
            client.batch_execute("COMMIT").await.map_err(lost)?;
            Ok(report
                .applied_migrations()
                .iter()
                .map(ToString::to_string)
                .collect())
        }
        Err(source) => {
            // If this fails, the connection is gone, and the transaction with it.
            drop(client.batch_execute("ROLLBACK").await);
            Err(MigrateError::Refused {
                database: database.to_string(),
                source,
            })
        }
    }
}

enum Taken {
    BySomebodyElse,
    Failed(tokio_postgres::Error),
}

/// Opens a transaction and takes the lock in it, or leaves no transaction open.
async fn lock(client: &Client) -> Result<(), Taken> {
    // A table's lock is waited for this long: behind it every server's statements would queue.
    let begin = "BEGIN; SET LOCAL lock_timeout = '5s'; SET LOCAL synchronous_commit = 'on'";
    client.batch_execute(begin).await.map_err(Taken::Failed)?;
    let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
        [(&LOCK.0, Type::INT4), (&LOCK.1, Type::INT4)];
    let taken = client
        .query_typed("SELECT pg_try_advisory_xact_lock($1, $2)", &parameters)
        .await
        .and_then(|rows| rows.first().map_or(Ok(false), |row| row.try_get(0)));
    match taken {
        Ok(true) => Ok(()),
        Ok(false) => {
            client.batch_execute("ROLLBACK").await.map_err(Taken::Failed)?;
            Err(Taken::BySomebodyElse)
        }
        Err(error) => {
            drop(client.batch_execute("ROLLBACK").await);
            Err(Taken::Failed(error))
        }
    }
}

/// The transaction that holds the lock, as refinery wants it: it neither begins nor commits one of its own, and prepares
/// no named statement, which a transaction pooler would lose.
struct Locked<'a> {
    client: &'a Client,
}

#[async_trait]
impl AsyncTransaction for Locked<'_> {
    type Error = Failed;

    async fn execute<'a, T: Iterator<Item = &'a str> + Send>(&mut self, queries: T) -> Result<usize, Failed> {
        let mut count = 0;
        for query in queries {
            self.client.batch_execute(query).await?;
            count += 1;
        }
        Ok(count)
    }
}

#[async_trait]
impl AsyncQuery<Vec<Migration>> for Locked<'_> {
    async fn query(&mut self, query: &str) -> Result<Vec<Migration>, Failed> {
        let rows = self.client.query_typed(query, &[]).await?;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            let when = OffsetDateTime::parse(row.try_get("applied_on")?, &Rfc3339).map_err(Failed::odd)?;
            let checksum = row.try_get::<_, &str>("checksum")?.parse().map_err(Failed::odd)?;
            listed.push(Migration::applied(
                row.try_get("version")?,
                row.try_get("name")?,
                when,
                checksum,
            ));
        }
        Ok(listed)
    }
}

impl AsyncMigrate for Locked<'_> {}

/// What went wrong inside of refinery's run.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the database refused")]
    Database(#[from] tokio_postgres::Error),
    #[error("the list of migrations ({LIST}) holds what refinery does not write")]
    Odd(#[source] Box<dyn StdError + Send + Sync>),
}

impl Failed {
    fn odd(error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Odd(Box::new(error))
    }
}

/// Makes the next days' partitions. If a lock is not to be had at once, the next call makes them: there is a week's time,
/// and a default partition behind it.
pub(super) async fn prepare_days(client: &Client) -> Result<(), tokio_postgres::Error> {
    let statement =
        format!("BEGIN; SET LOCAL lock_timeout = '200ms'; SELECT deed_prepare_days({DAYS_AHEAD}); COMMIT");
    match client.batch_execute(&statement).await {
        Ok(()) => Ok(()),
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                tracing::info!("history partitions are made later: the history is locked");
                return Ok(());
            }
            Err(error)
        }
    }
}
