//! Connecting, process ids, directories.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio_postgres::{Client, NoTls};

pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub fn raw(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap())
}

/// The end of a process that is not this one's child can only be looked for.
pub fn ended(pid: Pid) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        // A zombie that nobody collects has ended, too.
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if kill(pid, None) == Err(Errno::ESRCH) || state.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// The process id of the Postgres that lives in `directory`.
pub fn postmaster(directory: &Path) -> Pid {
    let file = std::fs::read_to_string(directory.join("data/postmaster.pid")).unwrap();
    Pid::from_raw(file.lines().next().unwrap().parse().unwrap())
}

pub fn only_entry(directory: &Path) -> std::path::PathBuf {
    let entries: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// A directory below which Postgres, as another user, may work.
pub fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    directory
}
