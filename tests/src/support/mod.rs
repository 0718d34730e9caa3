//! What tests stand on. Each file owns one kind of fixture; none of them judges anything, the tests do.

pub mod adapter;
pub mod blind;
pub mod chart;
mod cluster;
pub mod directory;
pub mod outside;
pub mod process;
pub mod proxy;
pub mod server;
pub mod standing;
pub mod wire;
pub mod work;

use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::NoTls;

pub use cluster::{Database, POSTGRES_VARIABLE, database};

/// Between two looks at something that sends no signal.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A connection of its own; it ends when the client is dropped.
pub async fn psql(url: &str) -> anyhow::Result<tokio_postgres::Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits for something that sends no signal, by looking again and again.
pub async fn until<F: Future<Output = anyhow::Result<bool>>>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + patience;
    timeout_at(deadline, async {
        while !look().await? {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        anyhow::Ok(())
    })
    .await
    .with_context(|| format!("not in time: {what}"))?
}
