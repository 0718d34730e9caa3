//! Writes down what time has decided: lapsed leases, expired requests for approval. It also has history's partitions
//! made ahead of their days.
//!
//! It decides nothing and writes nothing itself. It asks which rows look lapsed and hands each to the committer like any
//! other call; the core judges it anew under the row's lock, so a sweeper that was paused in between overwrites nothing.
//! Nothing waits for it either: every call judges lapses for itself, and screens see an honest state a second later.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deed_core::command::{Ask, Command, Request};
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId};
use deed_core::text::{Owner, Principal};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::service::{Call, Judge};
use crate::store;

/// How often to look: a screen shows a lapse about as soon as a person could notice it.
const EVERY: Duration = Duration::from_secs(1);

/// How many at once: a few batches, so that a sweep after a long outage leaves room for workers.
const AT_ONCE: u32 = 256;

/// What a stuck row may cost the sweep. It comes round again.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often to have partitions made: the day after tomorrow's are made in time even if most tries fail.
const PREPARE_EVERY: Duration = Duration::from_secs(3_600);

/// What the sweeper needs of the store.
pub trait Upkeep: Send + Sync + 'static {
    /// At most `limit` actions of which time seems to have decided something.
    fn lapsed(&self, limit: u32) -> impl Future<Output = Result<Vec<ActionKey>, store::Error>> + Send;

    /// Makes the coming days' partitions of history.
    fn prepare_days(&self) -> impl Future<Output = Result<(), store::Error>> + Send;
}

/// Sweeps until `stop`.
pub async fn run<U: Upkeep, J: Judge>(upkeep: U, judge: Arc<J>, stop: CancellationToken) {
    let (Ok(owner), Ok(principal)) = (Owner::new("sweeper"), Principal::new("deed")) else {
        return;
    };
    let sweeper = Sweeper {
        upkeep,
        judge,
        caller: Caller { owner, principal },
    };
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut prepared: Option<Instant> = None;
    let mut failing = false;
    while stop.run_until_cancelled(every.tick()).await.is_some() {
        if prepared.is_none_or(|at| at.elapsed() >= PREPARE_EVERY) {
            prepared = Some(Instant::now());
            if let Err(error) = sweeper.upkeep.prepare_days().await {
                tracing::warn!(%error, "the coming days' partitions of history could not be made; trying again within the hour");
            }
        }
        match sweeper.sweep().await {
            Ok(()) => failing = false,
            Err(error) if failing => tracing::debug!(%error, "the sweep failed again"),
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "the sweep failed; trying again every second");
            }
        }
    }
}

struct Sweeper<U, J> {
    upkeep: U,
    judge: Arc<J>,
    caller: Caller,
}

impl<U: Upkeep, J: Judge> Sweeper<U, J> {
    /// One sweep.
    async fn sweep(&self) -> Result<(), store::Error> {
        let lapsed = self.upkeep.lapsed(AT_ONCE).await?;
        let sweeping = lapsed.into_iter().map(|key| self.judge.judge(self.call(key)));
        for outcome in futures::future::join_all(sweeping).await {
            if let Err(error) = outcome {
                // The next sweep finds it again.
                tracing::debug!(%error, "a lapse could not be written down");
            }
        }
        Ok(())
    }

    fn call(&self, key: ActionKey) -> Call {
        let arrived = Instant::now();
        Call {
            command: Command {
                key,
                request: Request {
                    id: RequestId(Uuid::new_v4()),
                    fingerprint: Fingerprint([0; 16]),
                    caller: self.caller.clone(),
                },
                ask: Ask::Sweep,
            },
            arrived,
            deadline: arrived + PATIENCE,
        }
    }
}

#[cfg(test)]
mod tests;
