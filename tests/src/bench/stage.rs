//! What all cells stand on: one private Postgres, and for each cell an empty database just after a checkpoint.

use anyhow::Context;
use deed_server::postgres::{Cluster, Options};
use tokio_postgres::Client;

use super::statements::{self, Counter};
use crate::support::psql;

/// Beside the launcher's own, which are durable. The same for all columns.
const SETTINGS: [(&str, &str); 4] = [
    // The checkpoint before each cell is the only one: a timed one would hit one cell and spare the next.
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1h"),
    // What a database server with some gigabytes is given.
    ("shared_buffers", "512MB"),
    // 64 callers by hand, two servers' connections, and some more.
    ("max_connections", "200"),
];

/// The Postgres.
pub struct Stage {
    cluster: Cluster,
    pub admin: Client,
    pub counter: Counter,
}

impl Stage {
    pub async fn start() -> anyhow::Result<Self> {
        let mut options = Options::ephemeral();
        for (name, value) in SETTINGS {
            options = options.with(name, value);
        }
        let mut counting = options.clone();
        for (name, value) in statements::SETTINGS {
            counting = counting.with(name, value);
        }
        // A distribution may package its extensions apart; without them Postgres does not start.
        let (cluster, counter) = match Cluster::start(counting).await {
            Ok(cluster) => (cluster, Counter::Installed),
            Err(_not_installed) => (Cluster::start(options).await?, Counter::Missing),
        };
        let admin = psql(&cluster.url("postgres")).await?;
        if counter == Counter::Installed {
            Counter::install(&admin).await?;
        }
        Ok(Self {
            cluster,
            admin,
            counter,
        })
    }

    pub fn postmaster(&self) -> u32 {
        self.cluster.pid()
    }

    pub fn url(&self, database: &str) -> String {
        self.cluster.url(database)
    }

    pub async fn version(&self) -> anyhow::Result<String> {
        let row = self.admin.query_one("SHOW server_version", &[]).await?;
        Ok(format!("Postgres {}", row.try_get::<_, &str>(0)?))
    }

    /// An empty database, just after a checkpoint.
    pub async fn database(&self, name: &str) -> anyhow::Result<()> {
        self.cluster.create_database(name).await?;
        self.checkpoint().await
    }

    pub async fn checkpoint(&self) -> anyhow::Result<()> {
        self.admin
            .batch_execute("CHECKPOINT")
            .await
            .context("no checkpoint")
    }

    pub async fn drop_database(&self, name: &str) -> anyhow::Result<()> {
        let statement = format!("DROP DATABASE {name} WITH (FORCE)");
        Ok(self.admin.batch_execute(&statement).await?)
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        drop(self.admin);
        Ok(self.cluster.stop().await?)
    }
}
