//! Field cases end to end: real servers on a real Postgres, the real client, sockets, processes and the receiver, whose
//! ledger is what counts. Every test is named by its scenario and the fact that it proves; the protocol stories on a
//! virtual clock are told elsewhere.

mod base;
mod busy;
mod clocks;
mod deadlocks;
mod doors;
mod evidence;
mod failover;
mod faults;
mod held;
mod hostile;
mod lifecycle;
mod lost;
mod owners;
mod polite;
mod races;
mod refusals;
mod samples;
mod sessions;
mod shop;
mod size;
mod skew;
mod storm;
mod sweeper;
mod tenants;

use std::time::Duration;

use anyhow::Context;
use deed_client::{Contract, hours};
use deed_tests::support::server::{Options, Server};
use deed_tests::support::work::Worker;
use deed_tests::support::{Database, database};

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A database and the servers on it.
struct Field {
    database: Database,
    servers: Vec<Server>,
}

impl Field {
    async fn start() -> anyhow::Result<Self> {
        Self::with_servers(1).await
    }

    async fn with_servers(count: usize) -> anyhow::Result<Self> {
        let mut field = Self {
            database: database().await,
            servers: Vec::new(),
        };
        for _ in 0..count {
            field.add(Options::default()).await?;
        }
        Ok(field)
    }

    async fn with(options: Options) -> anyhow::Result<Self> {
        let mut field = Self {
            database: database().await,
            servers: Vec::new(),
        };
        field.add(options).await?;
        Ok(field)
    }

    async fn add(&mut self, options: Options) -> anyhow::Result<()> {
        let server = Server::start_with(&self.database.url, options).await?;
        self.servers.push(server);
        Ok(())
    }

    fn server(&self) -> &Server {
        &self.servers[0]
    }

    /// A worker at the first server, with a connection of its own.
    fn worker(&self, owner: &str) -> anyhow::Result<Worker> {
        Worker::at(&self.server().url(), owner)
    }

    async fn psql(&self) -> anyhow::Result<tokio_postgres::Client> {
        deed_tests::support::psql(&self.database.url).await
    }
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A receiver that deduplicates nothing and can be looked up at once.
fn serialized() -> Contract {
    Contract::serialized(Duration::ZERO)
}

/// A receiver that keeps idempotency keys for a day.
fn deduplicated() -> Contract {
    Contract::idempotency_key(hours(24))
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, future)
        .await
        .with_context(|| format!("not in time: {what}"))
}

/// A length of time as the wire carries it.
fn length(wire: Option<prost_types::Duration>) -> Duration {
    wire.and_then(|wire| wire.try_into().ok()).unwrap_or_default()
}
