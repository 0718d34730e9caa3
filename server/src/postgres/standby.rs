//! A streaming standby of a private Postgres: copied with `pg_basebackup`, then started like any other.
//!
//! Owns the copy and how the standby finds its primary. Whether the primary waits for it, and who is promoted when, is the
//! caller's.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use secrecy::ExposeSecret;

use super::account::Account;
use super::binaries::{Binaries, Search};
use super::directory::{Directory, SUPERUSER};
use super::error::{Error, file};
use super::{Cluster, Data, Options, launch};

impl Cluster {
    /// Starts a standby of this Postgres in the empty directory that `options` name, and waits until it serves readers.
    /// It streams from `port` on the loopback, which is this Postgres's own or leads to it, and calls itself `name` there.
    ///
    /// # Errors
    /// [`Error`] says what is missing or in the way; whatever was started by then has been ended.
    pub async fn start_standby(&self, options: Options, port: u16, name: &str) -> Result<Self, Error> {
        let directory = match &options.data {
            Data::Kept(path) => Directory::keep(path)?,
            Data::Ephemeral(parent) => Directory::ephemeral(parent)?,
        };
        let binaries = Search::from_environment().find(&self.directory.data())?;
        // Whoever owns the primary's data can read the copy.
        let account = Account::choose(&self.directory.data())?;
        let password = &self.password;
        let copy = async |into: PathBuf| {
            self.copy(&binaries, &account, &into).await?;
            let settings = into.join("postgresql.auto.conf");
            let line = format!(
                "primary_conninfo = 'host=127.0.0.1 port={port} user={SUPERUSER} password={} application_name={name}'\n",
                password.expose_secret()
            );
            fs::File::options()
                .append(true)
                .open(&settings)
                .and_then(|mut settings| settings.write_all(line.as_bytes()))
                .map_err(file("write", &settings))?;
            let signal = into.join("standby.signal");
            fs::write(&signal, "").map_err(file("write", &signal))?;
            account.own(&signal)
        };
        directory.take_copy(&account, password, copy).await?;
        let (postmaster, port) = launch(&directory, &binaries, &account, &options).await?;
        Ok(Self {
            postmaster,
            directory,
            port,
            password: password.clone(),
        })
    }

    async fn copy(&self, binaries: &Binaries, account: &Account, into: &Path) -> Result<(), Error> {
        let mut command = Command::new(binaries.basebackup());
        command
            .args(["--host", "127.0.0.1", "--username", SUPERUSER, "--no-password"])
            .args(["--port", &self.port.to_string()])
            // A fast checkpoint instead of one that is spread over minutes.
            .args(["--checkpoint", "fast", "--wal-method", "stream", "--no-sync"])
            .arg("--pgdata")
            .arg(into);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command.env("PGPASSWORD", self.password.expose_secret());
        let output = account.output(command, self.directory.path()).await?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Copy {
            directory: into.to_owned(),
            status: output.status,
            output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}
