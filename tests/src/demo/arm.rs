//! One arm of the demo: a crew works off its offers while kills strike it.
//!
//! Owns the order of events between the controller and its processes. Counting what became of the effects is `tally`'s
//! part.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::{Instant, sleep_until};

use super::crew::{Crew, Post};
use super::invoice::{self, Invoice};
use super::plan::{Plan, Victim};
use super::progress::Progress;
use super::said::Finished;
use super::servers::Deed;
use crate::support::outside::Receiver;
use crate::support::process::Program;

/// An arm takes seconds. If one is not through after this time, something hangs, and nothing it would count can be
/// believed.
const LIMIT: Duration = Duration::from_secs(240);

/// How the workers of an arm work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Blind,
    Guarded,
}

impl Way {
    pub fn title(self) -> &'static str {
        match self {
            Self::Blind => "without Deed",
            Self::Guarded => "with Deed",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::Guarded => "guarded",
        }
    }
}

/// How an arm went, as far as its workers can tell.
#[derive(Debug, Default)]
pub struct Ran {
    /// What was said first about each offer.
    pub finished: Vec<Finished>,
    pub workers_killed: usize,
    pub servers_killed: usize,
    pub took: Duration,
}

/// Runs one arm to its end. `deed` is there in the guarded one.
pub async fn run(
    way: Way,
    plan: &Plan,
    worker: Program,
    directory: &Path,
    receiver: &mut Receiver,
    mut deed: Option<&mut Deed>,
) -> anyhow::Result<Ran> {
    let posts = plan
        .offers
        .iter()
        .enumerate()
        .map(|(index, offers)| {
            let name = format!("worker-{}", index + 1);
            post(way, name, offers, directory, receiver.address, deed.as_deref())
        })
        .collect::<anyhow::Result<_>>()?;
    let start = Instant::now();
    let mut progress = Progress::start(way.title(), plan.offered())?;
    let mut crew = Crew::start(worker, posts)?;
    let mut strikes = plan
        .strikes
        .iter()
        .filter(|strike| way == Way::Guarded || strike.victim != Victim::Server)
        .peekable();
    let mut finished: HashMap<(usize, String), Finished> = HashMap::new();
    let mut ran = Ran::default();
    let mut next: Option<(Instant, Victim)> = None;
    loop {
        if next.is_none()
            && let Some(strike) = strikes.next_if(|strike| strike.after <= finished.len())
        {
            next = Some((Instant::now() + strike.aim, strike.victim));
        }
        let due = next.map_or(start + LIMIT, |(due, _)| due);
        tokio::select! {
            word = crew.listen() => {
                let Some(word) = word else { break };
                if let Some((worker, what)) = crew.take_in(word).await? {
                    // A worker that was started again finds done what it has done before; what it said first counts.
                    if let Entry::Vacant(entry) = finished.entry((worker, what.invoice_id.clone())) {
                        entry.insert(what);
                    }
                    progress.reached(finished.len());
                }
            }
            error = receiver.gone() => return Err(error),
            error = gone(deed.as_deref_mut()) => return Err(error),
            () = sleep_until(due) => match next.take() {
                Some((_, Victim::Worker(number))) => ran.workers_killed += usize::from(crew.strike(number).await?),
                Some((_, Victim::Server)) => if let Some(deed) = deed.as_deref_mut() {
                    progress.note("deed-server killed, starting it again");
                    deed.kill_and_restart().await.context("the killed Deed server did not start again")?;
                    ran.servers_killed += 1;
                    progress.note("deed-server was killed and is back");
                },
                None => bail!(
                    "{}: {} still at work after {} s, {} of {} offers finished; their logs are kept with --data DIR",
                    way.title(), crew.at_work().join(", "), LIMIT.as_secs(), finished.len(), plan.offered(),
                ),
            },
        }
    }
    progress.end();
    ran.took = start.elapsed();
    ran.finished = finished.into_values().collect();
    Ok(ran)
}

async fn gone(deed: Option<&mut Deed>) -> anyhow::Error {
    match deed {
        Some(deed) => deed.gone().await,
        None => std::future::pending().await,
    }
}

fn post(
    way: Way,
    name: String,
    offers: &[Invoice],
    directory: &Path,
    receiver: SocketAddr,
    deed: Option<&Deed>,
) -> anyhow::Result<Post> {
    let list = directory.join(format!("{name}.jsonl"));
    invoice::write(&list, offers)?;
    let mut arguments: Vec<OsString> = vec![way.word().into()];
    arguments.extend(["--offers".into(), list.into_os_string()]);
    arguments.extend(["--receiver".into(), receiver.to_string().into()]);
    match deed {
        Some(deed) => arguments.extend([
            "--server".into(),
            deed.url().into(),
            "--name".into(),
            name.clone().into(),
        ]),
        None => arguments.extend(["--done".into(), directory.join("done").into_os_string()]),
    }
    let log = directory.join(format!("{name}.log"));
    Ok(Post { name, arguments, log })
}

/// Makes an arm's directory.
pub fn directory(parent: &Path, way: Way) -> anyhow::Result<PathBuf> {
    let directory = parent.join(way.word());
    fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}
