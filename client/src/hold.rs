//! One grant in the hands of this process, from the answer that gave it to the evidence that ends it.
//!
//! Owns the promise that no grant is forgotten: whatever drops a hold (a cancelled future, a stop, a panic), exactly one
//! of them takes it over and tells the service the truth about it. Sending and looking up is `perform`'s work.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use deed_proto::v1;

use crate::grant::FencingToken;
use crate::guard::Guard;
use crate::locked;
use crate::receipt::{NotSentReason, Receipt};
use crate::worker::Worker;

/// How far the holder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// May look up; a lookup leaves nothing behind.
    Looking,
    /// May begin, and has not asked to.
    Unbegun,
    /// Has begun, or has asked to and does not know; nothing has been sent.
    Begun,
    /// The executor runs: anything may have left.
    Sending,
    /// Evidence is on its way, or is in: nobody need care any more.
    Over,
}

/// Why a hold ends without its holder's evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    /// Its future was dropped.
    Dropped,
    /// The process stops.
    Stopping,
}

/// What a hold is about. Shared with the renewals.
#[derive(Debug)]
pub(crate) struct Held {
    pub action: Arc<Named>,
    pub token: FencingToken,
    pub guard: Guard,
    phase: Mutex<Phase>,
}

/// An action by its key, with what a claim says of it.
#[derive(Debug)]
pub(crate) struct Named {
    pub key: v1::ActionKey,
    pub specification: v1::Specification,
}

impl Held {
    pub fn new(action: Arc<Named>, token: FencingToken, guard: Guard, phase: Phase) -> Self {
        Self {
            action,
            token,
            guard,
            phase: Mutex::new(phase),
        }
    }

    /// Takes the hold over, for good; only the first caller gets the phase that it was in.
    pub fn take(&self) -> Option<Phase> {
        let phase = std::mem::replace(&mut *locked(&self.phase), Phase::Over);
        (phase != Phase::Over).then_some(phase)
    }

    /// Moves on from `from`; false where somebody else has taken the hold over.
    fn advance(&self, from: Phase, to: Phase) -> bool {
        let mut phase = locked(&self.phase);
        let expected = *phase == from;
        if expected {
            *phase = to;
        }
        expected
    }

    /// Tells the service the truth about a hold that was taken over in `phase`.
    pub async fn abandon(&self, worker: &Worker, phase: Phase, why: Abandoned) {
        let outcome = match phase {
            Phase::Over => Ok(()),
            Phase::Looking | Phase::Unbegun => worker.release(self).await,
            Phase::Begun => {
                let reason = match why {
                    Abandoned::Dropped => NotSentReason::CancelledBeforeSend,
                    Abandoned::Stopping => NotSentReason::Shutdown,
                };
                let receipt = Receipt::not_sent(reason, "");
                worker.report_and_leave(self, receipt).await
            }
            // SUBTLE: not ended. The executor's future is gone, but bytes that it gave to a connection may still leave.
            Phase::Sending => {
                let reason = match why {
                    Abandoned::Dropped => "the worker's future was dropped in the middle of the send",
                    Abandoned::Stopping => "the worker stopped in the middle of the send",
                };
                worker.report_and_leave(self, Receipt::unknown(reason)).await
            }
        };
        if let Err(error) = outcome {
            tracing::error!(
                action.id = self.action.key.action_id,
                action.namespace = self.action.key.namespace,
                lease.token = %self.token,
                phase = ?phase,
                error = &error as &dyn std::error::Error,
                "an abandoned grant could not be given back; it lapses by itself, and the action is then looked up"
            );
        }
    }
}

/// A grant in hand. Dropped before its evidence is in, it is given back in the background.
#[derive(Debug)]
pub(crate) struct Hold {
    held: Arc<Held>,
    worker: Worker,
}

impl Hold {
    /// Registers the lease for renewal.
    pub fn new(worker: &Worker, held: Held, lease_left: Duration) -> Self {
        let held = Arc::new(held);
        worker.renewals().add(worker, &held, lease_left);
        Self {
            held,
            worker: worker.clone(),
        }
    }

    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Its evidence goes out: the lease ends with it and is no longer renewed.
    pub fn conclude(&self) {
        self.held.take();
        self.stop_renewing();
    }

    /// The lease is as long as it is.
    pub fn stop_renewing(&self) {
        self.worker.renewals().remove(&self.held);
    }

    /// About to ask for *begin*: from here on it may have been passed.
    pub fn start_begin(&self) -> bool {
        self.held.advance(Phase::Unbegun, Phase::Begun)
    }

    /// About to run the executor. False where the lease is not surely live, or the process stops.
    pub fn start_send(&self) -> bool {
        self.held.guard.live() && self.held.advance(Phase::Begun, Phase::Sending)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(phase) = self.held.take() {
            let (held, worker) = (self.held.clone(), self.worker.clone());
            self.worker.in_background(async move {
                let why = if worker.stops() {
                    Abandoned::Stopping
                } else {
                    Abandoned::Dropped
                };
                held.abandon(&worker, phase, why).await;
            });
        }
        // SUBTLE: last. A stop that finds no lease has to find the task above.
        self.worker.renewals().remove(&self.held);
    }
}
