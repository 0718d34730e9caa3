//! Carries batches through transactions until every job has its answer, and mends what fails: what the database
//! refused for the moment is tried again, a batch that fails is split so that a poisoned command fails alone, and what
//! may have been written is read again. It waits for nobody's row: jobs whose row is held are handed back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use super::job::Job;
use super::office::Office;
use super::round::{Failure, Link, Verdict};
use crate::store::{Busy, Connect, Error};

/// First pause after a failure: a deadlock's winner or a serialisable transaction is through by then.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Longest pause: a restarted Postgres is noticed soon after it is back.
const LONGEST_PAUSE: Duration = Duration::from_millis(300);

/// How often a command is judged anew after a refusal that no waiting mends: a broken constraint, a guard that let
/// nothing through. Once is enough where another action took its external id, or its key, in between; the second is for
/// what happened in between again.
const REFUSALS: u32 = 3;

/// Where a carrier works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Post {
    /// In a lane, where others wait behind it.
    Lane,
    /// Apart, where one job at a time may take its time.
    Apart,
}

/// What to do about jobs whose transaction failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cure {
    /// The same once more, after a pause.
    Again,
    /// The same at once, judged anew.
    Anew,
    /// In two halves.
    Split,
    /// Elsewhere, where it holds up nobody; if it is there already, after the others.
    Apart,
    /// It is a bug, or a row that cannot be read.
    GiveUp,
}

/// One connection at work.
pub struct Carrier<C: Connect> {
    link: Link<C>,
    office: Arc<Office>,
    post: Post,
    /// Since when the database has not been read, which is nobody's command's fault.
    unreadable_since: Option<Instant>,
}

impl<C: Connect> Carrier<C> {
    pub fn new(connect: Arc<C>, office: Arc<Office>, post: Post) -> Self {
        Self {
            link: Link::new(connect),
            office,
            post,
            unreadable_since: None,
        }
    }

    /// Carries `jobs`, which are sorted by key and name no key twice. Hands back those that have to go on apart.
    pub async fn carry(&mut self, jobs: Vec<Job>, busy: Busy) -> Vec<Job> {
        let mut apart = Vec::new();
        let mut open = vec![jobs];
        let mut pauses = pauses();
        while let Some(batch) = open.pop() {
            let now = Instant::now();
            let batch: Vec<Job> = batch.into_iter().filter_map(|job| job.awaited(now)).collect();
            if batch.is_empty() {
                continue;
            }
            match self.link.round(&self.office.protocol, &batch, busy).await {
                Ok(verdicts) => {
                    self.unreadable_since = None;
                    let mut again = Vec::new();
                    for (job, verdict) in batch.into_iter().zip(verdicts) {
                        match verdict {
                            Verdict::Judged(staged) => self.office.release(job, staged),
                            Verdict::Busy => apart.push(job),
                            Verdict::Again => {
                                again.extend(refused(job, "a guard of the row let nothing through"))
                            }
                        }
                    }
                    open.push(again);
                }
                Err(failure) => {
                    self.mend(failure, batch, &mut pauses, &mut open, &mut apart)
                        .await
                }
            }
        }
        apart
    }

    async fn mend(
        &mut self,
        failure: Failure,
        mut batch: Vec<Job>,
        pauses: &mut ExponentialBackoff,
        open: &mut Vec<Vec<Job>>,
        apart: &mut Vec<Job>,
    ) {
        let cure = cure(&failure, &mut batch, self.post);
        match failure {
            Failure::Reading(Error::Busy) | Failure::Writing(_) => self.unreadable_since = None,
            Failure::Reading(
                Error::Determinate { .. } | Error::Indeterminate { .. } | Error::Corrupt { .. },
            ) => {
                self.unreadable_since = self.unreadable_since.or(Some(Instant::now()));
            }
        }
        let (Failure::Reading(error) | Failure::Writing(error)) = failure;
        tracing::debug!(jobs = batch.len(), ?cure, error = %report(&error), "a transaction failed");
        match cure {
            Cure::Again => {
                let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
                let batch = self.worth_another_try(batch, pause, &error);
                if !batch.is_empty() {
                    tokio::time::sleep(pause).await;
                    open.push(batch);
                }
            }
            Cure::Anew => open.push(batch),
            Cure::Split => {
                let second = batch.split_off(batch.len() / 2);
                open.push(second);
                open.push(batch);
            }
            Cure::Apart => apart.append(&mut batch),
            Cure::GiveUp => {
                for job in batch {
                    give_up(job, &report(&error));
                }
            }
        }
    }

    /// Those for which it is not too late after the pause. The others are told that the database gives no answer.
    fn worth_another_try(&self, batch: Vec<Job>, pause: Duration, error: &Error) -> Vec<Job> {
        let now = Instant::now();
        // Whoever arrives while the database is away is not made to find out for itself.
        let away = self.unreadable_since.unwrap_or(now);
        let mut worth = Vec::new();
        for mut job in batch {
            let since = away.min(*job.failing_since.get_or_insert(now));
            if now.duration_since(since) < self.office.patience && now + pause < job.call.deadline {
                worth.push(job);
            } else {
                // The text is the store's own: no address, no password, nothing of the caller's.
                job.unavailable(error.to_string());
            }
        }
        worth
    }
}

fn cure(failure: &Failure, batch: &mut [Job], post: Post) -> Cure {
    let alone = batch.len() == 1;
    match failure {
        Failure::Reading(Error::Determinate { transient: true, .. } | Error::Indeterminate { .. }) => {
            Cure::Again
        }
        Failure::Writing(Error::Indeterminate { .. }) => {
            for job in batch {
                job.doubtful = true;
            }
            Cure::Again
        }
        // One command waits for somebody's uncommitted insert: its neighbours need not.
        Failure::Reading(Error::Busy) | Failure::Writing(Error::Busy) => {
            if alone {
                Cure::Apart
            } else {
                Cure::Split
            }
        }
        Failure::Writing(Error::Determinate { transient: true, .. }) => match post {
            _ if !alone => Cure::Split,
            Post::Lane => Cure::Apart,
            Post::Apart => Cure::Again,
        },
        Failure::Reading(Error::Determinate { transient: false, .. } | Error::Corrupt { .. })
        | Failure::Writing(Error::Determinate { transient: false, .. } | Error::Corrupt { .. }) => {
            if !alone {
                return Cure::Split;
            }
            for job in batch.iter_mut() {
                job.refused += 1;
            }
            if batch.iter().all(|job| job.refused < REFUSALS) {
                Cure::Anew
            } else {
                Cure::GiveUp
            }
        }
    }
}

/// The job, to be judged anew, unless that has been done often enough.
fn refused(mut job: Job, why: &str) -> Option<Job> {
    job.refused += 1;
    if job.refused < REFUSALS {
        return Some(job);
    }
    give_up(job, why);
    None
}

fn give_up(job: Job, why: &str) {
    tracing::error!(
        action.namespace = %job.key().namespace,
        action.id = %job.key().action_id,
        error = why,
        "a command cannot be written, and waiting will not mend it"
    );
    job.unavailable("the action's row, or the change to it, is not as the database expects".into());
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
        .build()
}

/// The error with everything below it, for the log.
fn report(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        below = cause.source();
    }
    text
}
