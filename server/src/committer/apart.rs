//! Where jobs go whose row somebody else holds, or whose insert runs into somebody else's: a few workers with
//! connections of their own, one job at a time. A worker waits for one row only a moment and then turns to the next, so
//! that not even many stuck rows hold up one that is soon free.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::backlog::{Backlog, Bound};
use super::carrier::Carrier;
use super::job::Job;
use crate::store::{Busy, Connect};

/// How long a worker waits for one row: long enough to keep its turn in the database's queue for it, short enough that
/// a caller who has gone, or another row, is noticed soon.
const TURN: Duration = Duration::from_millis(500);

/// One job a transaction.
const ALONE: Bound = Bound {
    jobs: 1,
    bytes: usize::MAX,
};

/// The jobs apart.
#[derive(Debug, Default)]
pub struct Yard {
    backlog: Mutex<Backlog>,
    arrived: Notify,
}

impl Yard {
    /// Takes in what arrives, until `stop`.
    pub async fn receive(&self, mut inbox: mpsc::UnboundedReceiver<Job>, stop: CancellationToken) {
        loop {
            let job = tokio::select! {
                biased;
                job = inbox.recv() => job,
                () = stop.cancelled() => None,
            };
            let Some(job) = job else { return };
            self.backlog().push(job);
            self.arrived.notify_one();
        }
    }

    /// Works on one job after the other, until `stop`.
    pub async fn work<C: Connect>(&self, mut carrier: Carrier<C>, stop: CancellationToken) {
        loop {
            let Some(job) = self.next() else {
                tokio::select! {
                    biased;
                    () = self.arrived.notified() => continue,
                    () = stop.cancelled() => return,
                }
            };
            let key = job.key().clone();
            let left = job.call.deadline.saturating_duration_since(Instant::now());
            let still = carrier.carry(vec![job], Busy::Wait(left.min(TURN))).await;
            let mut backlog = self.backlog();
            for job in still {
                backlog.push_front(job);
            }
            backlog.done(&key);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut backlog = self.backlog();
        let job = backlog.take(ALONE, Instant::now()).pop();
        // SUBTLE: signals that nobody was waiting for have become one; whoever was woken by it passes it on, or the
        // second of two jobs would wait for the first one's worker while the others sleep.
        if job.is_some() && !backlog.idle() {
            self.arrived.notify_one();
        }
        job
    }

    // A holder of this lock does nothing that panics halfway, so what a poisoned one protects is whole.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
