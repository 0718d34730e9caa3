//! One load over time: warm-up, then the measured time, then the end. Callers ask it when to start their next act.
//!
//! Closed: each caller starts as soon as it has finished. Open: acts are due at a fixed rate, whether or not callers are
//! free, and latency counts from the instant at which an act was due (no coordinated omission).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use hdrhistogram::Histogram;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Latencies are kept to three digits, in microseconds.
const DIGITS: u8 = 3;

const WARM_UP: u8 = 0;
const MEASURED: u8 = 1;
const OVER: u8 = 2;

/// How acts are started.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// By each caller, as soon as its last one is over.
    Closed,
    /// So many a second, whoever is free.
    Open(u32),
}

/// How long a load runs.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What a caller did.
#[derive(Debug)]
pub struct Tally {
    /// Of acts that ended within the measured time; microseconds.
    pub latencies: Histogram<u64>,
    /// Units of work that ended within the measured time: one for each act, unless an act is a batch.
    pub measured: u64,
    /// All units, warm-up and the last ones included.
    pub total: u64,
}

/// One load while it runs.
#[derive(Debug)]
pub struct Course {
    phase: AtomicU8,
    pace: Pace,
    due: Semaphore,
    started: AtomicU64,
    done: AtomicU64,
    origin: Instant,
}

/// Does acts one after the other.
pub trait Caller: Send + 'static {
    /// One act; how many units of work it was.
    fn act(&mut self) -> impl Future<Output = anyhow::Result<u64>> + Send;
}

/// Something that does acts until the course is over.
pub type Running = Pin<Box<dyn Future<Output = anyhow::Result<Tally>> + Send>>;

impl Tally {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            latencies: Histogram::new(DIGITS).context("no histogram of three digits")?,
            measured: 0,
            total: 0,
        })
    }

    /// Counts an act that was due at `due` and ends now.
    pub fn count(&mut self, course: &Course, due: Instant, units: u64) {
        self.total += units;
        course.done.fetch_add(units, Ordering::Relaxed);
        if course.phase.load(Ordering::Relaxed) == MEASURED {
            self.measured += units;
            let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
            // Grows by itself as far as needed.
            let _in_range = self.latencies.record(micros.max(1));
        }
    }

    fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.latencies.add(&other.latencies)?;
        self.measured += other.measured;
        self.total += other.total;
        Ok(())
    }
}

impl Course {
    fn new(pace: Pace) -> Self {
        Self {
            phase: AtomicU8::new(WARM_UP),
            pace,
            due: Semaphore::new(0),
            started: AtomicU64::new(0),
            done: AtomicU64::new(0),
            origin: Instant::now(),
        }
    }

    /// Waits until an act is due; since when it is. None when the course is over.
    pub async fn next(&self) -> Option<Instant> {
        let due = match self.pace {
            Pace::Closed => Instant::now(),
            Pace::Open(rate) => {
                // Closed with the course.
                self.due.acquire().await.ok()?.forget();
                self.origin + nth(rate, self.started.fetch_add(1, Ordering::Relaxed))
            }
        };
        (!self.over()).then_some(due)
    }

    pub fn over(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == OVER
    }

    /// Makes acts due. On a thread of its own: a timer of the runtime is a millisecond coarse.
    fn set_pace(self: &Arc<Self>) {
        let Pace::Open(rate) = self.pace else { return };
        let course = Arc::clone(self);
        std::thread::spawn(move || {
            for n in 0.. {
                let due = course.origin + nth(rate, n);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if course.over() {
                    return;
                }
                course.due.add_permits(1);
            }
        });
    }
}

fn nth(rate: u32, n: u64) -> Duration {
    Duration::from_secs_f64(n as f64 / f64::from(rate.max(1)))
}

/// A caller on a course.
pub fn running<C: Caller>(course: &Arc<Course>, mut caller: C) -> Running {
    let course = Arc::clone(course);
    Box::pin(async move {
        let mut tally = Tally::new()?;
        while let Some(due) = course.next().await {
            let units = caller.act().await?;
            tally.count(&course, due, units);
        }
        Ok(tally)
    })
}

/// Runs a load: `warm` hears how many units the warm-up did; `look` is called when the measured time starts and when it
/// ends. The first caller that fails fails it.
pub async fn run<T>(
    length: Length,
    pace: Pace,
    callers: impl FnOnce(&Arc<Course>) -> Vec<Running>,
    warm: impl AsyncFnOnce(u64) -> anyhow::Result<()>,
    mut look: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<(Tally, Duration, [T; 2])> {
    let course = Arc::new(Course::new(pace));
    let mut tasks: JoinSet<_> = callers(&course).into_iter().collect();
    course.set_pace();
    let timed = async {
        tokio::time::sleep(length.warm_up).await;
        warm(course.done.load(Ordering::Relaxed)).await?;
        let before = look()?;
        let start = Instant::now();
        course.phase.store(MEASURED, Ordering::Relaxed);
        tokio::time::sleep(length.measured).await;
        course.phase.store(OVER, Ordering::Relaxed);
        let took = start.elapsed();
        course.due.close();
        anyhow::Ok((took, [before, look()?]))
    };
    let mut tally = Tally::new()?;
    let mut timed = std::pin::pin!(timed);
    let (took, looks) = tokio::select! {
        ended = &mut timed => ended?,
        Some(failed) = tasks.join_next() => {
            // The thread that makes acts due ends by it.
            course.phase.store(OVER, Ordering::Relaxed);
            failed?.context("a caller failed")?;
            anyhow::bail!("a caller ended before its time");
        }
    };
    while let Some(ended) = tasks.join_next().await {
        tally.add(&ended?.context("a caller failed")?)?;
    }
    Ok((tally, took, looks))
}
