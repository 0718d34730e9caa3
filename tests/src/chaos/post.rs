//! A post is a process that is started again whenever it is gone, like a supervisor does, and that can be killed or paused.
//!
//! Owns one process at a time, by its process id. Whom to strike is the nemesis's part.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::Signal;
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::support::process::{Process, Program, ready};

/// Between the end of a process and the next start: a server that does not find its database would spin otherwise.
const PAUSE: Duration = Duration::from_millis(200);

/// A server connects to its database first, which may be failing over.
const READY: Duration = Duration::from_secs(30);

/// What to start, and how to tell that it serves.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: String,
    pub program: Program,
    pub arguments: Vec<OsString>,
    pub log: PathBuf,
    /// The start of the line by which it says that it is ready; without one it is ready at once.
    pub ready: Option<&'static str>,
}

/// What to do to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL, and at once a new start.
    Kill,
    /// SIGSTOP, and SIGCONT after this long.
    Pause(Duration),
    /// SIGTERM, for good.
    Stop,
}

/// Ends that nobody brought about.
pub type Fallen = Arc<Mutex<Vec<String>>>;

/// A supervised process. Dropping it kills the process.
#[derive(Debug)]
pub struct Post {
    blows: mpsc::Sender<Blow>,
    up: watch::Receiver<bool>,
    task: AbortOnDropHandle<anyhow::Result<()>>,
}

impl Post {
    pub fn start(description: Description, fallen: Fallen) -> Self {
        let (blows, orders) = mpsc::channel(1);
        let (tell, up) = watch::channel(false);
        let task = tokio::spawn(supervise(description, orders, tell, fallen));
        Self {
            blows,
            up,
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Strikes it, unless it is down or paused already; says whether it was struck.
    pub fn strike(&self, blow: Blow) -> bool {
        *self.up.borrow() && self.blows.try_send(blow).is_ok()
    }

    /// Waits until it is ready.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        self.up.wait_for(|up| *up).await.context("it has ended")?;
        Ok(())
    }

    /// Waits until it has ended by itself, with success.
    pub async fn ended(self) -> anyhow::Result<()> {
        self.task.await?
    }

    /// Ends it politely.
    pub async fn stop(self) -> anyhow::Result<()> {
        // Nobody to hear it: it has ended.
        let _gone = self.blows.send(Blow::Stop).await;
        self.ended().await
    }
}

async fn supervise(
    description: Description,
    mut orders: mpsc::Receiver<Blow>,
    tell: watch::Sender<bool>,
    fallen: Fallen,
) -> anyhow::Result<()> {
    loop {
        let Some(mut process) = launch(&description).await? else {
            // A stop that comes meanwhile finds nothing to end.
            if matches!(orders.try_recv(), Ok(Blow::Stop)) {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        tell.send_replace(true);
        loop {
            tokio::select! {
                blow = orders.recv() => match blow {
                    Some(Blow::Pause(length)) => {
                        tell.send_replace(false);
                        process.signal(Signal::SIGSTOP)?;
                        tokio::time::sleep(length).await;
                        process.signal(Signal::SIGCONT)?;
                        tell.send_replace(true);
                    }
                    Some(Blow::Kill) => {
                        tell.send_replace(false);
                        process.kill().await?;
                        break;
                    }
                    Some(Blow::Stop) | None => return process.stop().await,
                },
                status = process.ended() => {
                    tell.send_replace(false);
                    let status = status?;
                    if status.success() {
                        return Ok(());
                    }
                    let what = format!("{} ended by itself with {status}; {}", description.name, process.last_words());
                    fallen.lock().unwrap_or_else(PoisonError::into_inner).push(what);
                    tokio::time::sleep(PAUSE).await;
                    break;
                }
            }
        }
    }
}

/// Nothing where it did not get ready: its database may not be there.
async fn launch(description: &Description) -> anyhow::Result<Option<Process>> {
    let Description {
        name,
        program,
        arguments,
        log,
        ready: line,
    } = description;
    let (mut process, mut lines) = program.start(name, arguments, log)?;
    if let Some(start) = line {
        if ready(&mut process, lines, READY, |line| {
            line.strip_prefix(start).map(|_| ())
        })
        .await
        .is_err()
        {
            process.kill().await?;
            return Ok(None);
        }
    } else {
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    }
    Ok(Some(process))
}
