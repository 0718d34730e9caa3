//! The commands of `deed-server`: each finds its database, makes sure that it is fit, and hands it to the rest.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use crate::auth::token::{self, TokenHash};
use crate::auth::{Doors, DoorsError};
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
    /// Who may come in cannot be read.
    #[error(transparent)]
    Doors(#[from] DoorsError),
    /// No token.
    #[error(transparent)]
    Token(#[from] token::NoRandom),
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
    options.doors.allow(options.server.listen)?;
    tell_open_doors(options);
    let doors = Doors::open(options.doors.auth_file.as_deref(), options.doors.tls().as_ref())?;
    let database = fit(&options.database.database_url, options.database.allow_fsync_off).await?;
    on(database, tables, &options.server, doors, stop).await
}

fn tell_open_doors(options: &config::Serve) {
    match options.doors.missing(options.server.listen) {
        Some(config::Error::PlainText { .. }) => {
            tracing::warn!("without TLS, as was asked for by name: whoever is on the way reads tokens");
        }
        Some(_) => {
            tracing::warn!(
                "whoever reaches this server is `local` and may do everything, as was asked for by name"
            );
        }
        None if options.doors.auth_file.is_none() => {
            tracing::info!("no auth file: everybody on this machine is `local` and may do everything");
        }
        None => {}
    }
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
    options.allow()?;
    let doors = Doors::open(None, None)?;
    let Some(cluster) = dev::start(options, &stop).await? else {
        return Ok(());
    };
    let served = async {
        let database = fit(&dev::database_url(&cluster), false).await?;
        dev::introduce(options, &cluster);
        on(database, Tables::Migrate, &options.server, doors, stop).await
    };
    let served = served.await;
    cluster.stop().await?;
    served
}

/// Makes a bearer token. The token and its line go to standard output, each a line of its own for programs; what to do with
/// them goes to standard error, for people.
pub fn make_token() -> Result<(), Error> {
    let made = token::generate()?;
    eprintln!(
        "The token, for whoever is to call. It is kept nowhere, so this is the only time that it is shown:"
    );
    tell(made.expose_secret());
    eprintln!("Its line, for this principal in the auth file of every server:");
    tell(&format!("tokens = [\"{}\"]", TokenHash::of(&made)));
    Ok(())
}

async fn on(
    database: Database,
    tables: Tables,
    options: &config::Server,
    doors: Doors,
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
    Ok(serve::serve(store, options, doors, stop).await?)
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
