//! The process: spawning Postgres, telling when it is ready, ending it. Also ends one that a killed parent left behind.
//! Every signal goes to one process id, and only after it is known to be the Postgres of this very directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::{Error, file};

/// How often a process is looked at while it starts or stops: well below what a person notices.
const LOOK: Duration = Duration::from_millis(10);

/// A fast shutdown writes a checkpoint; on a slow disk that takes a while, but not longer than this.
const FAST_SHUTDOWN: Duration = Duration::from_secs(30);

/// An immediate shutdown waits at most 5 s for its own children.
const IMMEDIATE_SHUTDOWN: Duration = Duration::from_secs(10);

/// How to end a Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shutdown {
    /// Sessions are cut off, a checkpoint is written.
    Fast,
    /// Everything is dropped; the next start recovers from the log. Right where no next start will come.
    Immediate,
}

/// A running Postgres that this process started. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Postmaster {
    child: Child,
    data: PathBuf,
    on_drop: Shutdown,
}

impl Postmaster {
    /// Starts `command`, which is a `postgres -D data`, with its output to `log`.
    pub(super) fn spawn(mut command: Command, data: &Path, log: File, on_drop: Shutdown) -> io::Result<Self> {
        let errors = log.try_clone()?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        // SUBTLE: a group of its own. Ctrl-C goes to the whole group of the terminal, and a Postgres that stops at once
        // would take the store away from the calls that the server is still answering.
        command.process_group(0);
        Ok(Self {
            child: command.spawn()?,
            data: data.to_owned(),
            on_drop,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until Postgres accepts connections, or has ended (the inner error), or `patience` is over (`None`).
    pub(super) async fn ready(&mut self, patience: Duration) -> Option<Result<(), ExitStatus>> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(Err(status));
            }
            if PidFile::read(&self.data).is_some_and(|file| file.ready && file.pid == self.raw_pid()) {
                return Some(Ok(()));
            }
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// Ends Postgres and waits for that.
    pub(super) async fn stop(mut self, shutdown: Shutdown) -> Result<(), Error> {
        for (signal, patience) in shutdown.steps() {
            self.signal(signal);
            let start = Instant::now();
            while start.elapsed() < patience {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Err(Error::Stuck {
            pid: self.raw_pid().as_raw(),
            directory: self.data.clone(),
        })
    }

    fn raw_pid(&self) -> Pid {
        pid(self.child.id())
    }

    /// Not after it has been waited for: then the id may belong to somebody else.
    fn signal(&mut self, signal: Signal) {
        if matches!(self.child.try_wait(), Ok(None))
            && let Err(error) = kill(self.raw_pid(), signal)
        {
            tracing::warn!(postgres.pid = self.child.id(), %error, "cannot signal Postgres");
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        match self.on_drop {
            // The next start in this directory waits for its end.
            Shutdown::Fast => self.signal(Signal::SIGINT),
            // The directory is removed next, so its end must be seen.
            Shutdown::Immediate => {
                for (signal, patience) in Shutdown::Immediate.steps() {
                    self.signal(signal);
                    let start = Instant::now();
                    while start.elapsed() < patience {
                        if !matches!(self.child.try_wait(), Ok(None)) {
                            return;
                        }
                        std::thread::sleep(LOOK);
                    }
                }
            }
        }
    }
}

impl Shutdown {
    /// What to send, and how long to wait for its effect before the next, harder one. All of them are safe for the
    /// data: what was committed is in the write-ahead log.
    fn steps(self) -> impl Iterator<Item = (Signal, Duration)> {
        let fast = (self == Self::Fast).then_some((Signal::SIGINT, FAST_SHUTDOWN));
        fast.into_iter().chain([(Signal::SIGQUIT, IMMEDIATE_SHUTDOWN)])
    }
}

/// Ends the Postgres that a killed parent left in `data`, and clears what would keep a new one from starting. The
/// caller holds the directory's lock.
pub(super) async fn end_leftover(data: &Path, shutdown: Shutdown) -> Result<(), Error> {
    let Some(leftover) = PidFile::read(data).map(|file| file.pid) else {
        return Ok(());
    };
    if !serves(leftover, data) {
        // SUBTLE: after a reboot, or in a new container, the id may belong to another process of the same user;
        // Postgres takes that for an earlier Postgres and refuses to start. If backends of a dead one still run,
        // Postgres notices by their shared memory, not by this file.
        let path = data.join("postmaster.pid");
        return fs::remove_file(&path).map_err(file("remove stale", &path));
    }
    tracing::info!(
        postgres.pid = leftover.as_raw(),
        "stopping the Postgres that an earlier process left running"
    );
    for (signal, patience) in shutdown.steps() {
        // It may have ended by itself meanwhile: that is what the loop looks for.
        let _ended_already = kill(leftover, signal);
        let start = Instant::now();
        while start.elapsed() < patience {
            if !serves(leftover, data) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    Err(Error::Stuck {
        pid: leftover.as_raw(),
        directory: data.to_owned(),
    })
}

/// What Postgres writes into `postmaster.pid`.
#[derive(Debug, PartialEq, Eq)]
struct PidFile {
    pid: Pid,
    ready: bool,
}

impl PidFile {
    fn read(data: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// Line 1 is the process id; line 8, written last, says `ready`, or `standby` where only reading is served.
    fn parse(text: &str) -> Option<Self> {
        let number: i32 = text.lines().next()?.trim().parse().ok()?;
        let status = text.lines().nth(7).map(str::trim);
        let ready = matches!(status, Some("ready" | "standby"));
        (number > 1).then_some(Self {
            pid: Pid::from_raw(number),
            ready,
        })
    }
}

/// Whether process `pid` runs and is the Postgres of the directory `data`.
fn serves(pid: Pid, data: &Path) -> bool {
    // SUBTLE: by the command line, which everybody may read. The working directory of another user's process is closed
    // to root, too, in a container without SYS_PTRACE. Of a zombie the command line is empty: it counts as ended.
    let command_line = match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(bytes) => bytes
            .split(|byte| *byte == 0)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .collect(),
        Err(_) if Path::new("/proc/self").exists() => Vec::new(),
        Err(_) => Command::new("ps")
            .args(["-o", "command=", "-p", &pid.to_string()])
            .output()
            .map(|output| {
                String::from_utf8_lossy(&output.stdout)
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect()
            })
            .unwrap_or_default(),
    };
    command_line
        .first()
        .is_some_and(|program| program.ends_with("postgres"))
        && command_line.iter().any(|part| Path::new(part) == data)
}

/// Process ids fit: the system counts them in an `i32`.
fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_file_says_ready_only_in_its_eighth_line() {
        let starting = "4711\n/data\n1764539000\n5433\n\n127.0.0.1\n  1056913    196610\nstarting\n";
        assert_eq!(
            PidFile::parse(starting),
            Some(PidFile {
                pid: Pid::from_raw(4711),
                ready: false
            })
        );
        let ready = starting.replace("starting", "ready   ");
        assert_eq!(
            PidFile::parse(&ready),
            Some(PidFile {
                pid: Pid::from_raw(4711),
                ready: true
            })
        );
    }

    #[test]
    fn a_standby_that_serves_readers_is_ready() {
        let standby = "4711\n/data\n1764539000\n5433\n\n127.0.0.1\n  1056913    196610\nstandby \n";
        assert!(PidFile::parse(standby).unwrap().ready);
    }

    #[test]
    fn broken_pid_files_name_no_process() {
        // 0, 1 and negative ids would make `kill` reach a group, init, or everybody.
        for text in ["", "ready\n", "0\n", "1\n", "-1\n", "-4711\n"] {
            assert_eq!(PidFile::parse(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn pid_file_of_an_unrelated_process_is_removed_and_the_process_left_alone() {
        let data = tempfile::tempdir().unwrap();
        let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
        let path = data.path().join("postmaster.pid");
        fs::write(&path, format!("{}\n{}\n", bystander.id(), data.path().display())).unwrap();
        end_leftover(data.path(), Shutdown::Fast).await.unwrap();
        assert!(!path.exists());
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }
}
