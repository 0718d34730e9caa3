//! The commands of `deed-server`: each finds its database, makes sure that it is fit, and hands it to the rest.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::dev;
use crate::postgres;
use crate::serve::{self, Store, tell};
use crate::store::{
    self, BadAddress, Connector, Database, Durability, MigrateError, Reader, Weakness, durability, migrate,
    up_to_date,
};

/// Why a command ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options contradict themselves.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// Not an address.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// The database does not answer.
    #[error("cannot reach the database {database}; check that it runs and that the address is right")]
    Unreachable {
        /// Which.
        database: String,
        /// What the store says.
        #[source]
        source: store::Error,
    },
    /// The database is too old.
    #[error("the database {database} runs Postgres {version}; Deed needs 14 or newer")]
    TooOld {
        /// Which.
        database: String,
        /// Its version.
        version: String,
    },
    /// The database may lose what it acknowledged.
    #[error(
        "the database {database} runs with fsync = off: a crash of its machine loses what was acknowledged, and then \
         actions are doubled; set fsync = on, or name --allow-fsync-off if nothing in it matters"
    )]
    FsyncOff {
        /// Which.
        database: String,
    },
    /// The tables are not up to date.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// Serving ended.
    #[error(transparent)]
    Serve(#[from] serve::Error),
    /// The private Postgres did not start.
    #[error(transparent)]
    Dev(#[from] dev::Error),
    /// The private Postgres did not stop.
    #[error(transparent)]
    Postgres(#[from] postgres::Error),
}

/// Whether to bring the tables up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tables {
    Migrate,
    Leave,
}

/// Serves on a Postgres that is there.
pub async fn serve(options: &config::Serve, stop: CancellationToken) -> Result<(), Error> {
    let tables = if options.no_migrate {
        Tables::Leave
    } else {
        Tables::Migrate
    };
    // Before anything is written anywhere.
    options.server.address()?;
    let database = fit(&options.database.database_url, options.database.allow_fsync_off).await?;
    on(database, tables, &options.server, stop).await
}

/// Brings the tables up to date.
pub async fn migrate_only(options: &config::Database) -> Result<(), Error> {
    let database = fit(&options.database_url, options.allow_fsync_off).await?;
    let applied = migrate(&database).await?.applied;
    if applied.is_empty() {
        tell(&format!("{database} is up to date"));
    } else {
        tell(&format!("{database}: applied {}", applied.join(", ")));
    }
    Ok(())
}

/// Starts a private Postgres and serves on it.
pub async fn dev(options: &config::Dev, stop: CancellationToken) -> Result<(), Error> {
    options.server.address()?;
    let Some(cluster) = dev::start(options, &stop).await? else {
        return Ok(());
    };
    let served = async {
        let database = fit(&dev::database_url(&cluster), false).await?;
        dev::introduce(options, &cluster);
        on(database, Tables::Migrate, &options.server, stop).await
    };
    let served = served.await;
    cluster.stop().await?;
    served
}

async fn on(
    database: Database,
    tables: Tables,
    options: &config::Server,
    stop: CancellationToken,
) -> Result<(), Error> {
    match tables {
        Tables::Migrate => {
            for migration in migrate(&database).await?.applied {
                tracing::info!(%migration, "applied");
            }
        }
        Tables::Leave => up_to_date(&database).await?,
    }
    let reader = Reader::new(database.clone()).with_protocol(options.protocol());
    let store = Store {
        connect: Arc::new(Connector::new(database)),
        ledger: Arc::new(reader.clone()),
        upkeep: reader,
    };
    Ok(serve::serve(store, options, stop).await?)
}

/// The database, if acknowledged commits survive there, or if that is said not to matter.
async fn fit(address: &SecretString, allow_fsync_off: bool) -> Result<Database, Error> {
    let database = Database::parse(address.expose_secret())?;
    let name = || database.to_string();
    let found = durability(&database).await.map_err(|source| Error::Unreachable {
        database: name(),
        source,
    })?;
    for weakness in found.weaknesses() {
        match weakness {
            Weakness::TooOld => {
                return Err(Error::TooOld {
                    database: name(),
                    version: found.version,
                });
            }
            Weakness::NoFsync if !allow_fsync_off => return Err(Error::FsyncOff { database: name() }),
            Weakness::NoFsync | Weakness::TornPages | Weakness::NoSynchronousStandby => {
                tell_weakness(&database, &found, weakness);
            }
        }
    }
    Ok(database)
}

fn tell_weakness(database: &Database, found: &Durability, weakness: Weakness) {
    let version = &found.version;
    match weakness {
        Weakness::NoFsync => {
            tracing::warn!(%database, "fsync = off: a crash of the database's machine loses what was acknowledged");
        }
        Weakness::TornPages => {
            tracing::warn!(%database, "full_page_writes = off: a crash of the database's machine can tear what was acknowledged");
        }
        Weakness::NoSynchronousStandby => {
            tracing::info!(%database, postgres.version = %version, "no synchronous standby: a failover can lose the last grants, and then double");
        }
        // Refused before.
        Weakness::TooOld => {}
    }
}
