//! Whom Postgres runs as: this process's own user, or, since Postgres refuses to run as root, an unprivileged one.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::unistd::{Uid, User, geteuid};

use super::error::{Error, file};

/// Whom root hands Postgres to, in this order: the package's own user, or the one that every Unix has.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// The user that Postgres runs as.
#[derive(Debug, Clone)]
pub(super) enum Account {
    /// The user of this process.
    Own(Uid),
    /// Another one, because this process is root.
    Other(Box<User>),
}

impl Account {
    /// The account for the Postgres data directory `data`: whoever owns it, if it exists and this process is root.
    pub(super) fn choose(data: &Path) -> Result<Self, Error> {
        let own = geteuid();
        if !own.is_root() {
            return Ok(Self::Own(own));
        }
        let owner = fs::metadata(data)
            .ok()
            .map(|metadata| Uid::from_raw(metadata.uid()))
            .filter(|uid| !uid.is_root());
        let owner = owner.and_then(|uid| User::from_uid(uid).ok().flatten());
        owner
            .or_else(|| {
                UNPRIVILEGED
                    .iter()
                    .find_map(|name| User::from_name(name).ok().flatten())
            })
            .map(|user| Self::Other(Box::new(user)))
            .ok_or(Error::NoAccount)
    }

    pub(super) fn uid(&self) -> Uid {
        match self {
            Self::Own(uid) => *uid,
            Self::Other(user) => user.uid,
        }
    }

    /// For messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Own(uid) => uid.to_string(),
            Self::Other(user) => user.name.clone(),
        }
    }

    /// Makes `path` the account's.
    pub(super) fn own(&self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Other(user) => chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                .map_err(file("hand over to the account of Postgres", path)),
        }
    }

    /// Runs one of Postgres's own tools to its end, as the account, in a directory that the account may enter.
    pub(super) async fn output(&self, mut command: Command, directory: &Path) -> Result<Output, Error> {
        let program = PathBuf::from(command.get_program());
        command
            .current_dir(directory)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        self.apply(&mut command);
        tokio::process::Command::from(command)
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|source| Error::Spawn {
                program,
                account: self.name(),
                directory: directory.to_owned(),
                source,
            })
    }

    /// Lets `command` run as the account.
    pub(super) fn apply(&self, command: &mut Command) {
        if let Self::Other(user) = self {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
    }
}
