//! `deed-server dev`: a private Postgres and a server on it, started and stopped as one.

use std::path::PathBuf;

use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::postgres::{self, Cluster, Options};
use crate::serve::tell;

/// The database within the private Postgres.
const DATABASE: &str = "deed";

/// Why it could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory's name cannot be completed: the current directory is gone.
    #[error("cannot find the current directory, in which {} would lie; name another with --data", data.display())]
    Directory {
        /// As it was given.
        data: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Postgres.
    #[error(transparent)]
    Postgres(#[from] postgres::Error),
}

/// Starts the private Postgres; none if `stop` came first.
pub async fn start(options: &config::Dev, stop: &CancellationToken) -> Result<Option<Cluster>, Error> {
    let place = if options.ephemeral {
        Options::ephemeral()
    } else {
        let data = std::path::absolute(&options.data).map_err(|source| Error::Directory {
            data: options.data.clone(),
            source,
        })?;
        Options::kept(data.join("postgres"))
    };
    // A start that is dropped in the middle ends what it has started.
    let Some(cluster) = stop.run_until_cancelled(Cluster::start(place)).await else {
        return Ok(None);
    };
    let cluster = cluster?;
    cluster.create_database(DATABASE).await?;
    Ok(Some(cluster))
}

/// The address of its database, password included.
#[must_use]
pub fn database_url(cluster: &Cluster) -> SecretString {
    SecretString::from(cluster.url(DATABASE))
}

/// Says what was started.
pub fn introduce(options: &config::Dev, cluster: &Cluster) {
    let kept = if options.ephemeral {
        "its data goes when this stops"
    } else {
        "its data stays there"
    };
    tell(&format!(
        "private Postgres on 127.0.0.1:{} in {} ({kept}); Ctrl-C stops both",
        cluster.port(),
        cluster.directory().display()
    ));
}
