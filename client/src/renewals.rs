//! Prolongs all leases of this process: one background task, one call for all that are due.
//!
//! Owns when to renew. It never decides that a lease is live: it hands what the service answers to each lease's guard, and
//! where it comes too late (a starved runtime, a service that is away) the guard refuses by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deed_proto::v1;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::Instant;
use v1::renew_result::Result as Renewal;

use crate::error::CallError;
use crate::hold::Held;
use crate::locked;
use crate::repeat::{Answered, Limits};
use crate::span;
use crate::worker::Worker;

/// A lease is renewed at a third of its length, and a renewal has another third before it is given up: two renewals may
/// fail and the third still comes in time.
const SHARE: u32 = 3;
/// The most leases that one call may prolong.
const LARGEST_CALL: usize = 1_000;
/// Where nothing better is known: a lease may be as short as 100 ms.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
/// A failed renewal is repeated after a tenth of its period.
const REPEATS: u32 = 10;

#[derive(Debug)]
struct Lease {
    held: Arc<Held>,
    period: Duration,
    /// None while a renewal is under way.
    due: Option<Instant>,
}

/// The leases that this process holds.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    leases: HashMap<usize, Lease>,
    running: bool,
}

impl State {
    /// SUBTLE: a process that holds two grants of one action has lost the older one, whatever its guard still believes. And
    /// a call that names an action twice is refused as a whole: one overtaken lease would cost all others theirs.
    fn revoke_overtaken(&self) {
        let mut newest: HashMap<(&str, &str), &Held> = HashMap::new();
        for lease in self.leases.values() {
            let (held, key) = (lease.held.as_ref(), &lease.held.action.key);
            let newer = newest.entry((&key.namespace, &key.action_id)).or_insert(held);
            if held.token > newer.token {
                newer.guard.revoke();
                *newer = held;
            } else if held.token < newer.token {
                held.guard.revoke();
            }
        }
    }
}

/// A lease's place in the map: where it lies in memory, for as long as the map holds it.
fn place(held: &Arc<Held>) -> usize {
    Arc::as_ptr(held).addr()
}

impl Renewals {
    pub fn add(&self, worker: &Worker, held: &Arc<Held>, lease_left: Duration) {
        let period = (lease_left / SHARE).max(SHORTEST_PERIOD);
        let lease = Lease {
            held: held.clone(),
            period,
            due: Some(Instant::now() + period.min(held.guard.time_left() / SHARE)),
        };
        let start = {
            let mut state = locked(&self.state);
            state.leases.insert(place(held), lease);
            !std::mem::replace(&mut state.running, true)
        };
        self.changes.send_replace(());
        if start {
            let keeper = worker.clone();
            worker.in_background(async move { keep(&keeper).await });
        }
    }

    pub fn remove(&self, held: &Arc<Held>) {
        locked(&self.state).leases.remove(&place(held));
        self.changes.send_replace(());
    }

    pub fn take_all(&self) -> Vec<Arc<Held>> {
        let leases = std::mem::take(&mut locked(&self.state).leases);
        self.changes.send_replace(());
        leases.into_values().map(|lease| lease.held).collect()
    }

    pub fn empty(&self) -> bool {
        locked(&self.state).leases.is_empty()
    }

    /// Returns once nothing is held.
    pub async fn emptied(&self) {
        let mut changes = self.changes.subscribe();
        while !self.empty() && changes.changed().await.is_ok() {}
    }

    /// When the next renewal is due; None ends the task.
    fn next(&self, busy: bool) -> Option<Option<Instant>> {
        let mut state = locked(&self.state);
        if state.leases.is_empty() && !busy {
            // Under the lock, so that no lease can be added between the decision and the end.
            state.running = false;
            return None;
        }
        Some(state.leases.values().filter_map(|lease| lease.due).min())
    }

    /// The leases to renew now. Those past half of their period go along, so that all of one length soon share a call.
    fn due(&self, now: Instant) -> Vec<Arc<Held>> {
        let mut state = locked(&self.state);
        state.revoke_overtaken();
        state
            .leases
            .retain(|_, lease| lease.due.is_none() || lease.held.guard.live());
        let due = state.leases.values_mut().filter_map(|lease| {
            let soon = lease.due.is_some_and(|due| due <= now + lease.period / 2);
            soon.then(|| {
                lease.due = None;
                lease.held.clone()
            })
        });
        due.collect()
    }

    /// The least period among these: what a renewal of them may take.
    fn period(&self, of: &[Arc<Held>]) -> Duration {
        let state = locked(&self.state);
        let periods = of.iter().filter_map(|held| state.leases.get(&place(held)));
        periods.map(|lease| lease.period).min().unwrap_or(SHORTEST_PERIOD)
    }

    /// The renewal of this lease is over; the next is due a period after `from`.
    fn schedule(&self, held: &Arc<Held>, next: impl FnOnce(&mut Lease) -> Instant) {
        if let Some(lease) = locked(&self.state).leases.get_mut(&place(held)) {
            lease.due = Some(next(lease));
        }
    }
}

/// The one task. Ends when nothing is held.
async fn keep(worker: &Worker) {
    let renewals = worker.renewals();
    let mut changes = renewals.changes.subscribe();
    let mut under_way = FuturesUnordered::new();
    while let Some(next) = renewals.next(!under_way.is_empty()) {
        tokio::select! {
            () = until(next) => {
                for batch in renewals.due(Instant::now()).chunks(LARGEST_CALL) {
                    under_way.push(renew(worker, batch.to_vec()));
                }
            }
            Some(()) = under_way.next() => {}
            // The sender lives in the worker, so this cannot fail.
            _ = changes.changed() => {}
        }
    }
}

async fn until(next: Option<Instant>) {
    match next {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn renew(worker: &Worker, batch: Vec<Arc<Held>>) {
    let renewals = worker.renewals();
    let started = Instant::now();
    let patience = renewals.period(&batch);
    let request = v1::RenewRequest {
        leases: batch
            .iter()
            .map(|held| v1::RenewEntry {
                key: Some(held.action.key.clone()),
                fencing_token: held.token.number(),
            })
            .collect(),
        ..v1::RenewRequest::default()
    };
    let limits = Limits {
        each: patience,
        total: patience,
    };
    match worker.calls().renew_within(request, limits).await {
        Ok(answered) if answered.message.results.len() == batch.len() => {
            let Answered { asked, message, .. } = answered;
            for (held, result) in batch.iter().zip(message.results) {
                match result.result {
                    Some(Renewal::Renewed(renewed)) => {
                        let lease_left = span::from_wire(renewed.lease_left);
                        held.guard
                            .extend(asked, span::from_wire(renewed.waited), lease_left);
                        renewals.schedule(held, |lease| {
                            // Never shorter: towards `max_hold` there is ever less to gain by asking.
                            lease.period = lease.period.max(lease_left / SHARE);
                            started + lease.period
                        });
                    }
                    Some(Renewal::Lost(_)) => {
                        held.guard.revoke();
                        renewals.remove(held);
                        tracing::warn!(
                            action.id = held.action.key.action_id,
                            lease.token = %held.token,
                            "the lease is lost; a send under it is cut off and reported as unknown"
                        );
                    }
                    Some(Renewal::Error(error)) => {
                        tracing::warn!(
                            action.id = held.action.key.action_id,
                            lease.token = %held.token,
                            reason = error.reason,
                            message = error.message,
                            "the lease could not be renewed"
                        );
                        renewals.schedule(held, |lease| started + lease.period);
                    }
                    None => renewals.schedule(held, |lease| started + lease.period),
                }
            }
        }
        Ok(_) => {
            let problem = "it has another number of results than there were leases";
            later(
                renewals,
                &batch,
                started,
                &CallError::Unintelligible {
                    call: "Renew",
                    problem,
                },
            );
        }
        Err(error) => later(renewals, &batch, started, &error),
    }
}

/// A renewal that failed as a whole is repeated soon: the lease still has the other thirds.
fn later(renewals: &Renewals, batch: &[Arc<Held>], started: Instant, error: &CallError) {
    tracing::warn!(
        leases = batch.len(),
        error = error as &dyn std::error::Error,
        "the leases could not be renewed; trying again"
    );
    for held in batch {
        renewals.schedule(held, |lease| match error {
            CallError::Unanswered { .. } => Instant::now() + lease.period / REPEATS,
            CallError::Refused { .. } | CallError::Unintelligible { .. } => started + lease.period,
        });
    }
}
