//! What can go wrong between "start a Postgres" and "it answers". Each message says what happened, what is known and
//! what to do next; the cause below it, if there is one, is in `source()`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::binaries::OLDEST_MAJOR;

/// Why a private Postgres could not be started, used or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No directory with both `initdb` and `postgres` was found.
    #[error(
        "no Postgres found: initdb and postgres are not on PATH, pg_config names none, and there is none under {}. \
         Install one (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; \
         macOS: brew install postgresql) or put its bin directory on PATH",
        packaged.display()
    )]
    NotInstalled {
        /// Where packaged installations were looked for.
        packaged: PathBuf,
    },

    /// Installations were found, but none that Deed works with.
    #[error(
        "every Postgres found is older than version {OLDEST_MAJOR} (found: {found}). Install a newer one"
    )]
    TooOld {
        /// Major versions and where they are.
        found: String,
    },

    /// The directory was made by a major version that is not installed (any more).
    #[error(
        "{} was made by Postgres {made_by}, which is not installed (found: {found}). \
         Install Postgres {made_by}, or choose another data directory",
        directory.display()
    )]
    OtherVersion {
        /// The data directory.
        directory: PathBuf,
        /// Major version that made it.
        made_by: u32,
        /// Major versions that are installed, and where.
        found: String,
    },

    /// Postgres refuses to run as root and there is nobody to run it as.
    #[error(
        "Postgres does not run as root, and this machine has neither a user `postgres` nor a user `nobody`. \
         Start this command as another user"
    )]
    NoAccount,

    /// Somebody else works in this directory.
    #[error(
        "{} is in use by process {owner}. Stop that process, or choose another data directory",
        directory.display()
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// Process id of its user as written into the lock file; `?` when it is just starting.
        owner: String,
    },

    /// The directory holds something, and not what this launcher makes.
    #[error(
        "{} is not empty and was not made by Deed; nothing in it was touched. Choose an empty or a new directory",
        directory.display()
    )]
    ForeignDirectory {
        /// The refused directory.
        directory: PathBuf,
    },

    /// A program could not be started; most often the account may not enter the data directory.
    #[error(
        "cannot run {} as user {account} in {}. That user needs to be able to run the one and to enter the other, \
         and a home directory (/root above all) is mostly closed to it: choose another data directory",
        program.display(), directory.display()
    )]
    Spawn {
        /// `initdb`, `postgres` or `pg_basebackup`.
        program: PathBuf,
        /// The account it was to run as.
        account: String,
        /// The working directory it was to have.
        directory: PathBuf,
        /// What the system answered.
        source: io::Error,
    },

    /// `initdb` gave up.
    #[error("initdb could not make {} ({status}): {output}", directory.display())]
    Initdb {
        /// The directory that it was to make.
        directory: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to its error output.
        output: String,
    },

    /// `pg_basebackup` gave up.
    #[error("pg_basebackup could not copy the primary to {} ({status}): {output}", directory.display())]
    Copy {
        /// The directory that it was to make.
        directory: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to its error output.
        output: String,
    },

    /// Postgres ended before it was ready.
    #[error("Postgres ended while starting ({status}). The end of {}:\n{tail}", log.display())]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// Its log file.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },

    /// Postgres runs but does not get ready.
    #[error("Postgres was not ready after {seconds} s. The end of {}:\n{tail}", log.display())]
    NotReady {
        /// How long was waited.
        seconds: u64,
        /// Its log file.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },

    /// An earlier Postgres in this directory cannot be stopped.
    #[error("Postgres (process {pid}) in {} does not stop. Look at its log, then end it by hand", directory.display())]
    Stuck {
        /// Its process id.
        pid: i32,
        /// Its data directory.
        directory: PathBuf,
    },

    /// A file operation failed.
    #[error("cannot {doing} {}", path.display())]
    File {
        /// What was being done, as in "cannot … PATH".
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },

    /// Postgres runs, but the database could not be made.
    #[error("cannot make database {name:?}")]
    Database {
        /// Its name.
        name: String,
        /// What Postgres answered.
        source: tokio_postgres::Error,
    },
}

/// Turns an I/O error into [`Error::File`], for `map_err`.
pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { doing, path, source }
}
