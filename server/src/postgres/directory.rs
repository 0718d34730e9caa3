//! The directory that a private Postgres lives in, and who may work in it. Owns the layout, the lock, the password and
//! the making (`initdb`) of the data; starts and stops no Postgres.
//!
//! ```text
//! deed.lock      held (flock) by the process that uses the directory; its process id is in it
//! password       the superuser's password, mode 0600
//! postgres.log   what Postgres says; .old is the run before
//! data/          the PGDATA; data.new.… while initdb makes it
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use uuid::Uuid;

use super::account::Account;
use super::binaries::Binaries;
use super::error::{Error, file};

/// The superuser of the private Postgres, whose password is in the directory.
pub(super) const SUPERUSER: &str = "deed";

/// How temporary directories are named, so that a later start finds those of processes that were killed.
pub(super) const EPHEMERAL_PREFIX: &str = "deed-postgres-";

const LOCK: &str = "deed.lock";
const PASSWORD: &str = "password";
const DATA: &str = "data";
const HALF_MADE_PREFIX: &str = "data.new.";

/// A locked directory. The lock ends with this value, or with the process, however it dies.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    // SUBTLE: before `_lock`, as fields are dropped in order: a temporary directory goes while it is still locked, or
    // the sweep of another process would remove it at the same time.
    temporary: Option<TempDir>,
    _lock: File,
}

impl Directory {
    /// Makes `path` where it is missing and locks it.
    pub(super) fn keep(path: &Path) -> Result<Self, Error> {
        // SUBTLE: the parents first, with ordinary permissions. Mode 0700 is for the directory itself: started by root,
        // Postgres runs as another user and has to pass through what lies above.
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(file("make directory", parent))?;
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(file("make directory", path))?;
        let path = fs::canonicalize(path).map_err(file("find", path))?;
        let empty = fs::read_dir(&path)
            .map_err(file("read directory", &path))?
            .next()
            .is_none();
        if !empty && !path.join(LOCK).is_file() {
            return Err(Error::ForeignDirectory { directory: path });
        }
        let lock = lock(&path)?;
        Ok(Self {
            path,
            temporary: None,
            _lock: lock,
        })
    }

    /// Makes a directory below `parent` that goes with this value, and locks it.
    pub(super) fn ephemeral(parent: &Path) -> Result<Self, Error> {
        let parent = fs::canonicalize(parent).map_err(file("find", parent))?;
        let temporary = tempfile::Builder::new()
            .prefix(EPHEMERAL_PREFIX)
            .tempdir_in(&parent)
            .map_err(file("make a temporary directory in", &parent))?;
        let path = temporary.path().to_owned();
        let lock = lock(&path)?;
        Ok(Self {
            path,
            temporary: Some(temporary),
            _lock: lock,
        })
    }

    /// Takes over a temporary directory that a killed process left, to remove it with this value; nothing if it is in
    /// use, or has not got as far as `initdb`.
    pub(super) fn left_behind(path: &Path) -> Option<Self> {
        // SUBTLE: between making a directory and locking it, its maker holds no lock. The password is written under
        // the lock, so it tells an abandoned directory from one that is just being made.
        if !path.join(PASSWORD).is_file() {
            return None;
        }
        let lock = File::open(path.join(LOCK)).ok()?;
        lock.try_lock().ok()?;
        Some(Self {
            path: path.to_owned(),
            temporary: None,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// PGDATA.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// Runs `initdb` unless that has been done, and gives the superuser's password.
    pub(super) async fn prepare(
        &self,
        binaries: &Binaries,
        account: &Account,
    ) -> Result<SecretString, Error> {
        account.own(&self.path)?;
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700))
            .map_err(file("close to others", &self.path))?;
        let password_file = self.path.join(PASSWORD);
        if self.data().is_dir() {
            let password = fs::read_to_string(&password_file).map_err(file("read", &password_file))?;
            return Ok(password.trim().to_owned().into());
        }
        self.clear_half_made();
        // SUBTLE: a name of its own each time. When the parent is killed, initdb is not, and may still be writing.
        let half_made = self
            .path
            .join(format!("{HALF_MADE_PREFIX}{}", Uuid::new_v4().simple()));
        let password = SecretString::from(Uuid::new_v4().simple().to_string());
        write_password(&password_file, &password).map_err(file("write", &password_file))?;
        account.own(&password_file)?;
        self.initdb(binaries, account, &half_made, &password_file).await?;
        // SUBTLE: initdb is not atomic, a rename is: whoever is killed in between leaves no `data`.
        fs::rename(&half_made, self.data()).map_err(file("rename", &half_made))?;
        File::open(&self.path)
            .and_then(|directory| directory.sync_all())
            .map_err(file("sync", &self.path))?;
        Ok(password)
    }

    /// Takes a copy of another Postgres in as this one's data; it comes with the other's superuser, and so with its
    /// password. `copy` makes it in the directory that it is given.
    pub(super) async fn take_copy<F: Future<Output = Result<(), Error>>>(
        &self,
        account: &Account,
        password: &SecretString,
        copy: impl FnOnce(PathBuf) -> F,
    ) -> Result<(), Error> {
        account.own(&self.path)?;
        self.clear_half_made();
        let half_made = self
            .path
            .join(format!("{HALF_MADE_PREFIX}{}", Uuid::new_v4().simple()));
        let password_file = self.path.join(PASSWORD);
        write_password(&password_file, password).map_err(file("write", &password_file))?;
        account.own(&password_file)?;
        copy(half_made.clone()).await?;
        fs::rename(&half_made, self.data()).map_err(file("rename", &half_made))
    }

    /// Removes what an earlier, killed start was making. What resists (its initdb still runs) is in nobody's way.
    fn clear_half_made(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(HALF_MADE_PREFIX)
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::warn!(directory = %entry.path().display(), %error, "cannot remove a half-made data directory");
            }
        }
    }

    async fn initdb(
        &self,
        binaries: &Binaries,
        account: &Account,
        data: &Path,
        password: &Path,
    ) -> Result<(), Error> {
        let mut command = Command::new(binaries.initdb());
        command
            .arg("--pgdata")
            .arg(data)
            .args([
                "--username",
                SUPERUSER,
                "--auth",
                "scram-sha-256",
                "--encoding",
                "UTF8",
                "--locale",
                "C",
            ])
            .arg("--pwfile")
            .arg(password);
        if self.temporary() {
            // Only the sync of what initdb itself wrote: nobody recovers a temporary directory after a power cut.
            command.arg("--no-sync");
        }
        let output = account.output(command, &self.path).await?;
        if output.status.success() {
            return Ok(());
        }
        let output_text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::Initdb {
            directory: data.to_owned(),
            status: output.status,
            output: output_text,
        })
    }

    /// A fresh log file; the one before is kept as `.old`.
    pub(super) fn open_log(&self) -> Result<File, Error> {
        let log = self.log();
        if log.exists() {
            fs::rename(&log, self.path.join("postgres.log.old")).map_err(file("rename", &log))?;
        }
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .map_err(file("write", &log))
    }

    /// The last lines of the log, for messages.
    pub(super) fn log_tail(&self) -> String {
        /// As many as explain a failed start, and still fit a screen.
        const LINES: usize = 12;
        let text = fs::read(self.log())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .get(lines.len().saturating_sub(LINES)..)
            .unwrap_or_default()
            .join("\n")
    }
}

fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let mut lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(file("open", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            lock.read_to_string(&mut owner).map_err(file("read", &path))?;
            let owner = if owner.trim().is_empty() {
                "?".to_owned()
            } else {
                owner.trim().to_owned()
            };
            return Err(Error::InUse {
                directory: directory.to_owned(),
                owner,
            });
        }
        Err(TryLockError::Error(source)) => return Err(file("lock", &path)(source)),
    }
    lock.set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| writeln!(lock, "{}", std::process::id()))
        .map_err(file("write", &path))?;
    Ok(lock)
}

fn write_password(path: &Path, password: &SecretString) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(password.expose_secret().as_bytes())?;
    file.sync_all()
}
