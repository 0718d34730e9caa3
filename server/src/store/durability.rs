//! How durable the database is: what start-up says aloud, and what it refuses (design rule 19).

use tokio_postgres::Client;

use super::Error;
use super::database::Database;
use super::link::Link;
use super::sqlstate::{Stage, classify, unconnected};

/// The oldest Postgres that Deed runs on, as `server_version_num` writes it.
const OLDEST: u32 = 140_000;

/// What the database says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Durability {
    /// For people, e.g. `15.6`.
    pub version: String,
    /// As `server_version_num`: 150006.
    pub version_num: u32,
    /// Whether a commit reaches the disk at all.
    pub fsync: bool,
    /// Whether a page torn by a crash can be repaired.
    pub full_page_writes: bool,
    /// The server's default. Deed's own writes raise it to `on`.
    pub synchronous_commit: String,
    /// Who has to confirm a commit; empty: nobody but the primary.
    pub synchronous_standby_names: String,
}

/// What makes a database unfit, or weaker than it looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weakness {
    /// Older than Postgres 14: refused.
    TooOld,
    /// `fsync=off`: refused unless allowed. What was acknowledged does not survive a crash of the machine.
    NoFsync,
    /// `full_page_writes=off`: a torn page after a crash may lose what was acknowledged.
    TornPages,
    /// No synchronous standby: a failover can lose acknowledged grants, and then double.
    NoSynchronousStandby,
}

impl Durability {
    /// What is weak about it, worst first.
    pub fn weaknesses(&self) -> Vec<Weakness> {
        [
            (self.version_num < OLDEST, Weakness::TooOld),
            (!self.fsync, Weakness::NoFsync),
            (!self.full_page_writes, Weakness::TornPages),
            (
                self.synchronous_standby_names.is_empty(),
                Weakness::NoSynchronousStandby,
            ),
        ]
        .into_iter()
        .filter_map(|(weak, weakness)| weak.then_some(weakness))
        .collect()
    }
}

/// Asks the database how durable it is.
///
/// # Errors
/// [`Error::Determinate`] if it does not answer.
pub async fn durability(database: &Database) -> Result<Durability, Error> {
    let link = Link::open(database).await.map_err(unconnected)?;
    ask(link.client())
        .await
        .map_err(|error| classify(error, Stage::BeforeCommit))
}

async fn ask(client: &Client) -> Result<Durability, tokio_postgres::Error> {
    let row = client
        .query_typed_one(include_str!("sql/durability.sql"), &[])
        .await?;
    let number: &str = row.try_get("server_version_num")?;
    Ok(Durability {
        version: row.try_get("server_version")?,
        version_num: number.parse().unwrap_or(0),
        fsync: row.try_get::<_, &str>("fsync")? == "on",
        full_page_writes: row.try_get::<_, &str>("full_page_writes")? == "on",
        synchronous_commit: row.try_get("synchronous_commit")?,
        synchronous_standby_names: row.try_get("synchronous_standby_names")?,
    })
}
