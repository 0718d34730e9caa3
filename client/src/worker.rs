//! What all handles of one client share: its calls, its held leases, its background tasks, and whether it stops.
//!
//! Owns the calls that give grants and give them back. Each runs in a task of its own, so that dropping the future that
//! waits for it loses no grant. Evidence is handed in by `evidence`; which call comes next is `perform`'s decision.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deed_proto::v1;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::Calls;
use crate::clock::Clock;
use crate::error::{CallError, Error};
use crate::grant::FencingToken;
use crate::guard::Guard;
use crate::hold::{Abandoned, Held, Hold, Named, Phase};
use crate::outcome::{Blocked, Outcome, Pending, Settled, Step};
use crate::renewals::Renewals;
use crate::repeat::{Answered, Limits};
use crate::span;

/// How a client behaves.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub namespace: String,
    pub owner: String,
    pub patience: Duration,
    pub report_deadline: Duration,
    pub call_timeout: Duration,
    pub clock: Arc<dyn Clock>,
}

/// Shared by all clones of a `Deed`.
#[derive(Clone, Debug)]
pub(crate) struct Worker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: Settings,
    calls: Calls,
    renewals: Renewals,
    tasks: TaskTracker,
    runtime: Handle,
    stopping: CancellationToken,
}

/// An answer with its grant in hand.
#[derive(Debug)]
pub(crate) enum Turn {
    Execute(Hold, v1::Execute),
    Verify(Hold, v1::VerifyEffect),
    Open(Pending),
    Settled(Settled),
    Blocked(Blocked),
}

impl Worker {
    pub fn new(settings: Settings, calls: Calls, runtime: Handle) -> Self {
        Self(Arc::new(Shared {
            settings,
            calls,
            renewals: Renewals::default(),
            tasks: TaskTracker::new(),
            runtime,
            stopping: CancellationToken::new(),
        }))
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub fn calls(&self) -> &Calls {
        &self.0.calls
    }

    pub fn renewals(&self) -> &Renewals {
        &self.0.renewals
    }

    pub fn stops(&self) -> bool {
        self.0.stopping.is_cancelled()
    }

    pub async fn stopped(&self) {
        self.0.stopping.cancelled().await;
    }

    /// Runs to its end whatever becomes of the caller; a stop waits for it.
    pub fn in_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn_on(task, &self.0.runtime);
    }

    /// Claims until there is an answer or `total` is over.
    pub async fn claim(&self, action: &Arc<Named>, begin: bool, total: Duration) -> Result<Turn, Error> {
        if self.stops() {
            return Err(Error::Stopping);
        }
        let (worker, action) = (self.clone(), action.clone());
        self.detached(async move {
            let request = v1::ClaimRequest {
                key: Some(action.key.clone()),
                specification: Some(action.specification.clone()),
                begin,
                ..v1::ClaimRequest::default()
            };
            let limits = worker.limits(total);
            let answered = tokio::select! {
                biased;
                answered = worker.calls().claim_within(request, limits) => answered?,
                // An answer under way is waited for, since it may bring a grant that has to be given back.
                () = worker.stopped_for(limits.each) => return Err(Error::Stopping),
            };
            Ok(worker.turn("Claim", &action, answered.map(|response| response.answer))?)
        })
        .await
    }

    /// Records without a lease.
    pub async fn plan(&self, action: &Named) -> Result<Outcome, Error> {
        let request = v1::PlanRequest {
            key: Some(action.key.clone()),
            specification: Some(action.specification.clone()),
            ..v1::PlanRequest::default()
        };
        let call = "Plan";
        match Step::from_wire(self.calls().plan(request).await?.answer) {
            Some(Step::Settled(settled)) => Ok(Outcome::Settled(settled)),
            Some(Step::Blocked(blocked)) => Ok(Outcome::Blocked(blocked)),
            Some(Step::Open(pending)) => Ok(Outcome::Pending(pending)),
            Some(Step::Execute(_) | Step::Verify(_)) | None => Err(unintelligible(call).into()),
        }
    }

    /// Asks for the gate. The hold has to have started to begin.
    pub async fn begin(&self, held: &Held) -> Result<Answered<Option<v1::Answer>>, CallError> {
        let request = v1::BeginRequest {
            key: Some(held.action.key.clone()),
            fencing_token: held.token.number(),
            ..v1::BeginRequest::default()
        };
        let limits = self.limits(held.guard.time_left());
        let answered = self.calls().begin_within(request, limits).await?;
        Ok(answered.map(|response| response.answer))
    }

    /// Gives back what has not begun; the answer is the next step for whoever asks.
    pub async fn give_back(&self, hold: Hold) -> Result<Turn, Error> {
        let worker = self.clone();
        self.detached(async move {
            hold.conclude();
            let answered = worker.release_call(hold.held()).await?;
            Ok(worker.turn("Release", &hold.held().action, answered)?)
        })
        .await
    }

    /// As `give_back`, for a hold that was taken over.
    pub async fn release(&self, held: &Held) -> Result<(), Error> {
        self.release_call(held).await?;
        Ok(())
    }

    /// Ends the client: no claims from here on, what runs has `grace` to finish, and then the truth is told about the
    /// rest.
    pub async fn stop(&self, grace: Duration) {
        self.0.stopping.cancel();
        // The grace is over, or nothing is left: either way the next step is the same.
        let _over = tokio::time::timeout(grace, self.renewals().emptied()).await;
        self.0.tasks.close();
        loop {
            for held in self.renewals().take_all() {
                // A send under way is cut off by this.
                held.guard.revoke();
                if let Some(phase) = held.take() {
                    let worker = self.clone();
                    self.in_background(async move {
                        held.abandon(&worker, phase, Abandoned::Stopping).await;
                    });
                }
            }
            self.0.tasks.wait().await;
            // SUBTLE: an answer that was under way may have brought a grant meanwhile.
            if self.renewals().empty() {
                return;
            }
        }
    }

    pub fn limits(&self, total: Duration) -> Limits {
        Limits {
            each: self.settings().call_timeout,
            total,
        }
    }

    async fn stopped_for(&self, length: Duration) {
        self.stopped().await;
        tokio::time::sleep(length).await;
    }

    /// SUBTLE: a task of its own. A future that is dropped while a call is under way would lose the grant in its answer,
    /// and the action would lapse into doubt for nothing; the task goes on, and drops the grant where it can be given back.
    pub async fn detached<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        match self.0.tasks.spawn_on(task, &self.0.runtime).await {
            Ok(result) => result,
            Err(join) => match join.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime goes down, and the task with it.
                Err(_) => Err(Error::Stopping),
            },
        }
    }

    async fn release_call(&self, held: &Held) -> Result<Answered<Option<v1::Answer>>, CallError> {
        let request = v1::ReleaseRequest {
            key: Some(held.action.key.clone()),
            fencing_token: held.token.number(),
            ..v1::ReleaseRequest::default()
        };
        // After its lease a grant is given back already.
        let limits = self.limits(held.guard.time_left().max(self.settings().call_timeout));
        let answered = self.calls().release_within(request, limits).await?;
        Ok(answered.map(|response| response.answer))
    }

    /// Takes a grant in hand; whoever drops it gives it back.
    pub fn turn(
        &self,
        call: &'static str,
        action: &Arc<Named>,
        answered: Answered<Option<v1::Answer>>,
    ) -> Result<Turn, CallError> {
        let step = Step::from_wire(answered.message).ok_or(unintelligible(call))?;
        let hold = |token: u64, waited, lease_left, phase: Phase| {
            let clock = self.settings().clock.clone();
            let (waited, lease_left) = (span::from_wire(waited), span::from_wire(lease_left));
            let guard = Guard::new(clock, answered.asked, waited, lease_left);
            let held = Held::new(action.clone(), FencingToken::new(token), guard, phase);
            Hold::new(self, held, lease_left)
        };
        Ok(match step {
            Step::Execute(execute) => {
                let phase = if execute.begun {
                    Phase::Begun
                } else {
                    Phase::Unbegun
                };
                let hold = hold(execute.fencing_token, execute.waited, execute.lease_left, phase);
                Turn::Execute(hold, execute)
            }
            Step::Verify(verify) => {
                let hold = hold(
                    verify.fencing_token,
                    verify.waited,
                    verify.lease_left,
                    Phase::Looking,
                );
                Turn::Verify(hold, verify)
            }
            Step::Open(pending) => Turn::Open(pending),
            Step::Settled(settled) => Turn::Settled(settled),
            Step::Blocked(blocked) => Turn::Blocked(blocked),
        })
    }
}

fn unintelligible(call: &'static str) -> CallError {
    CallError::Unintelligible {
        call,
        problem: "it names no next step that this client knows",
    }
}
