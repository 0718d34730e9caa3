//! A database of its own for every test, on a Postgres that is shared.
//!
//! Shared by everybody under `with-postgres -- CMD` (which exports [`POSTGRES_VARIABLE`]); without it, by the tests of
//! this process. Starting and stopping is `with-postgres`'s work: it runs as a keeper that holds the other end of a
//! pipe, so that its Postgres stops however this process ends.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// Address of a Postgres whose user may make databases: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
pub const POSTGRES_VARIABLE: &str = "DEED_TEST_POSTGRES";

const KEEPER: &str = "with-postgres";

/// An empty database. Dropping it drops it in Postgres, with whoever is still connected; if that fails, it goes with
/// its Postgres.
#[derive(Debug)]
pub struct Database {
    /// Address, for anything that connects.
    pub url: String,
    /// Its name.
    pub name: String,
    admin: String,
}

/// Makes an empty database.
///
/// # Panics
/// When there is no Postgres, or it makes no database: a test cannot go on without.
#[expect(clippy::panic, reason = "the caller is a test")]
pub async fn database() -> Database {
    match make().await {
        Ok(database) => database,
        Err(error) => panic!("no database for this test: {error:#}"),
    }
}

async fn make() -> anyhow::Result<Database> {
    let admin = admin().await?;
    let name = format!("test_{}", Uuid::new_v4().simple());
    execute(&admin, &format!("CREATE DATABASE {name}")).await?;
    Ok(Database {
        url: beside(&admin, &name)?,
        name,
        admin,
    })
}

impl Drop for Database {
    fn drop(&mut self) {
        let admin = self.admin.clone();
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // SUBTLE: on a thread with a runtime of its own. The one of the test may be the thread that drops this, or be
        // shutting down.
        let dropped = std::thread::spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(execute(&admin, &statement))
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("database {} stays until its Postgres stops: {error:#}", self.name);
        }
    }
}

async fn admin() -> anyhow::Result<String> {
    static ADMIN: OnceCell<String> = OnceCell::const_new();
    let start = || async {
        match env::var(POSTGRES_VARIABLE) {
            Ok(given) if !given.is_empty() => Ok(given),
            Ok(_) | Err(_) => tokio::task::spawn_blocking(start_keeper).await?,
        }
    };
    ADMIN.get_or_try_init(start).await.cloned()
}

/// Starts the keeper and reads the address from the first line that it writes.
fn start_keeper() -> anyhow::Result<String> {
    // SUBTLE: never dropped. Its input stays open exactly as long as this process lives, and its end, however it
    // comes, is the keeper's signal.
    static KEPT: std::sync::Mutex<Option<Child>> = std::sync::Mutex::new(None);

    let program = keeper()?;
    let mut command = Command::new(&program);
    // Neither of the two may hold this process's own output open: a runner waits for its end.
    command
        .arg("--keep")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // Ctrl-C ends this process, and so the pipe, and so the keeper.
    command.process_group(0);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let output = child.stdout.take().context("the keeper has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    match KEPT.lock() {
        Ok(mut kept) => *kept = Some(child),
        Err(poisoned) => *poisoned.into_inner() = Some(child),
    }
    match line
        .trim()
        .strip_prefix(POSTGRES_VARIABLE)
        .and_then(|rest| rest.strip_prefix('='))
    {
        Some(url) => Ok(url.to_owned()),
        None => bail!("{KEEPER} started no Postgres: {}", line.trim()),
    }
}

/// `target/debug/with-postgres`, seen from `target/debug/deps/TEST` or `target/debug/PROGRAM`.
fn keeper() -> anyhow::Result<PathBuf> {
    let own = env::current_exe()?;
    own.ancestors().skip(1).take(2).map(|directory| directory.join(KEEPER)).find(|path| path.is_file()).with_context(
        || {
            format!(
                "{KEEPER} is not built beside {}: cargo build -p deed-tests --bin {KEEPER}, or set {POSTGRES_VARIABLE}",
                own.display()
            )
        },
    )
}

async fn execute(url: &str, statement: &str) -> anyhow::Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .context("cannot connect to Postgres")?;
    let connection = tokio::spawn(connection);
    client.batch_execute(statement).await?;
    drop(client);
    connection.await??;
    Ok(())
}

/// The address of another database of the same Postgres.
fn beside(admin: &str, name: &str) -> anyhow::Result<String> {
    let (address, query) = match admin.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (admin, String::new()),
    };
    let (scheme, rest) = address
        .split_once("://")
        .with_context(|| format!("{POSTGRES_VARIABLE} is no URL"))?;
    let server = rest.split('/').next().unwrap_or(rest);
    Ok(format!("{scheme}://{server}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn another_database_keeps_everything_but_the_name() {
        for (admin, other) in [
            (
                "postgres://deed:pw@127.0.0.1:5433/postgres",
                "postgres://deed:pw@127.0.0.1:5433/t",
            ),
            ("postgres://deed@localhost", "postgres://deed@localhost/t"),
            (
                "postgresql://a@h:1/x?sslmode=disable",
                "postgresql://a@h:1/t?sslmode=disable",
            ),
        ] {
            assert_eq!(beside(admin, "t").unwrap(), other);
        }
        assert!(beside("host=127.0.0.1", "t").is_err());
    }
}
