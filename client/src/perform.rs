//! The loop over the next step: what a worker does with what it may do.
//!
//! Owns the order of claim, begin, send, report, lookup and wait, and the rules of the worker's half: a send starts only
//! under a lease that is surely live, is cut off when it is not, and whatever was not plainly answered is *unknown*. It
//! decides nothing about the action; the service does.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use deed_proto::v1;
use futures::FutureExt;
use tokio::time::Instant;

use crate::error::{CallError, Error};
use crate::grant::{FencingToken, Grant, Lookup};
use crate::hold::{Hold, Named};
use crate::observation::Observation;
use crate::outcome::{GrantKind, Outcome, Pending, Step};
use crate::receipt::{NotSentReason, Receipt};
use crate::span;
use crate::worker::{Turn, Worker};

/// Between two claims there is at least this much, whatever the service says: a pause of zero would be a busy loop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// Up to a tenth is added to every pause, so that many who wait for one action do not all come back at one instant.
const SPREAD: f64 = 0.1;

/// What this caller can do with a grant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Able {
    pub execute: bool,
    pub verify: bool,
}

impl Able {
    fn with(self, kind: GrantKind) -> bool {
        match kind {
            GrantKind::Execute => self.execute,
            GrantKind::Verify => self.verify,
            GrantKind::Unspecified => false,
        }
    }
}

/// One run of the loop.
#[derive(Debug)]
pub(crate) struct Performance {
    pub worker: Worker,
    pub action: Arc<Named>,
    /// Pass the gate already in the claim. Not where doubt is left to people: there it is kept small.
    pub begin_at_claim: bool,
    pub patience: Duration,
    pub able: Able,
}

impl Performance {
    pub async fn run<E, EF, V, VF>(
        mut self,
        mut execute: Option<E>,
        mut verify: Option<V>,
    ) -> Result<Outcome, Error>
    where
        E: FnMut(Grant) -> EF,
        EF: Future<Output: Into<Receipt>>,
        V: FnMut(Lookup) -> VF,
        VF: Future<Output: Into<Observation>>,
    {
        let mut turn = self.claim().await?;
        loop {
            turn = match turn {
                Turn::Settled(settled) => return Ok(Outcome::Settled(settled)),
                Turn::Blocked(blocked) => return Ok(Outcome::Blocked(blocked)),
                Turn::Open(pending) => {
                    if !self.waited_for(&pending).await? {
                        return Ok(Outcome::Pending(pending));
                    }
                    self.claim().await?
                }
                Turn::Execute(hold, granted) => match &mut execute {
                    Some(execute) => self.execute(hold, granted, execute).await?,
                    None => self.worker.give_back(hold).await?,
                },
                Turn::Verify(hold, granted) => match &mut verify {
                    Some(verify) => self.look_up(hold, granted, verify).await?,
                    None => self.worker.give_back(hold).await?,
                },
            };
        }
    }

    /// Every claim is a new request: an old one never gets another grant.
    async fn claim(&self) -> Result<Turn, Error> {
        let begin = self.begin_at_claim && self.able.execute;
        // Also with little patience left, one claim has the time that a call needs.
        let total = self.patience.max(self.worker.settings().call_timeout);
        self.worker.claim(&self.action, begin, total).await
    }

    /// What to ask for along with evidence. Who cannot look up asks for nothing: the grant might be a lookup.
    fn then(&self) -> v1::Then {
        match (self.able.execute && self.able.verify, self.begin_at_claim) {
            (false, _) => v1::Then::Nothing,
            (true, true) => v1::Then::BegunGrant,
            (true, false) => v1::Then::Grant,
        }
    }

    /// Waits until a claim makes sense. False where the patience does not last that long, or a claim would be no use.
    async fn waited_for(&mut self, pending: &Pending) -> Result<bool, Error> {
        let wish = match pending {
            Pending::Claimable(kind) if !self.able.with(*kind) => return Ok(false),
            Pending::Claimable(_) => Duration::ZERO,
            Pending::Wait { retry_after, .. } if *retry_after > self.patience => return Ok(false),
            Pending::Wait { retry_after, .. } => *retry_after,
            // The holder may be done long before its lease ends, so the last bit of patience is worth one more claim.
            Pending::Held { retry_after, .. } => (*retry_after).min(self.patience),
        };
        if self.patience.is_zero() {
            return Ok(false);
        }
        let spread = wish.mul_f64(rand::random_range(0.0..SPREAD));
        let pause = (wish + spread).max(SHORTEST_PAUSE);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.worker.stopped() => return Err(Error::Stopping),
        }
        self.patience = self.patience.saturating_sub(pause);
        Ok(true)
    }

    async fn execute<E, F>(&self, hold: Hold, granted: v1::Execute, execute: &mut E) -> Result<Turn, Error>
    where
        E: FnMut(Grant) -> F,
        F: Future<Output: Into<Receipt>>,
    {
        // Dropped here, a grant is given back with the truth about it.
        if self.worker.stops() {
            return Err(Error::Stopping);
        }
        if !granted.begun {
            match self.begin(&hold).await? {
                Gate::Open => {}
                Gate::Shut(turn) => return Ok(*turn),
                Gate::Silent => {
                    let receipt = refused_by_guard(
                        "the gate did not open, as far as is known, while the lease was surely live",
                    );
                    return self.worker.report(hold, receipt, self.then()).await;
                }
            }
        }
        if self.worker.stops() {
            return Err(Error::Stopping);
        }
        if !hold.start_send() {
            let receipt = refused_by_guard("the lease was no longer surely live before the send");
            return self.worker.report(hold, receipt, self.then()).await;
        }
        let receipt = self.send(&hold, granted, execute).await?;
        self.worker.report(hold, receipt, self.then()).await
    }

    /// The go/no-go gate.
    async fn begin(&self, hold: &Hold) -> Result<Gate, Error> {
        let held = hold.held();
        if !hold.start_begin() {
            return Err(Error::Stopping);
        }
        let answered = match self.worker.begin(held).await {
            Ok(answered) => answered,
            // SUBTLE: it may have been passed all the same. Nothing was sent, and saying so is right either way.
            Err(CallError::Unanswered { .. }) => return Ok(Gate::Silent),
            Err(error) => return Err(error.into()),
        };
        let (asked, tries) = (answered.asked, answered.tries);
        match Step::from_wire(answered.message.clone()) {
            Some(Step::Execute(granted)) if granted.begun && granted.fencing_token == held.token.number() => {
                let waited = span::from_wire(granted.waited);
                held.guard
                    .extend(asked, waited, span::from_wire(granted.lease_left));
                Ok(Gate::Open)
            }
            // SUBTLE: a lost answer may have opened the gate, and this one only says that the lease has lapsed since. Then
            // the action is in doubt for nothing, and with nothing to look up it would stay so: say that nothing was sent.
            Some(Step::Open(_) | Step::Blocked(_)) if tries > 1 => Ok(Gate::Silent),
            _ => {
                let turn = self.worker.turn("Begin", &self.action, answered)?;
                hold.conclude();
                Ok(Gate::Shut(Box::new(turn)))
            }
        }
    }

    /// Runs the executor once, for as long as it may run.
    async fn send<E, F>(&self, hold: &Hold, granted: v1::Execute, execute: &mut E) -> Result<Receipt, Error>
    where
        E: FnMut(Grant) -> F,
        F: Future<Output: Into<Receipt>>,
    {
        let guard = hold.held().guard.clone();
        let send_timeout = span::from_wire(granted.send_timeout);
        let until = Instant::now() + send_timeout;
        let grant = Grant {
            token: FencingToken::new(granted.fencing_token),
            attempt: granted.attempt,
            guarantee: granted.guarantee(),
            outward_key: granted.outward_key,
            resend: granted.resend,
            resumes: granted.resume.map(|resumes| resumes.missing_facts),
            send_timeout,
            until,
            guard: guard.clone(),
        };
        // The call is inside the future, so that an executor that panics before its first await is caught as well.
        let sending = AssertUnwindSafe(async { execute(grant).await.into() }).catch_unwind();
        Ok(tokio::select! {
            // SUBTLE: the executor first. A receipt that is there is never given up for a guess about the lease.
            biased;
            done = sending => done.unwrap_or_else(|panic| {
                Receipt::unknown(format_args!("the executor panicked: {}", message(panic.as_ref())))
            }),
            () = guard.lost() => {
                if self.worker.stops() {
                    return Err(Error::Stopping);
                }
                Receipt::unknown("the lease was no longer surely live, so the send was cut off")
            }
            () = tokio::time::sleep_until(until) => Receipt::unknown(format_args!(
                "the send was cut off at the end of its send timeout of {send_timeout:?}"
            )),
        })
    }

    async fn look_up<V, F>(
        &self,
        hold: Hold,
        granted: v1::VerifyEffect,
        verify: &mut V,
    ) -> Result<Turn, Error>
    where
        V: FnMut(Lookup) -> F,
        F: Future<Output: Into<Observation>>,
    {
        let guard = hold.held().guard.clone();
        let lookup = Lookup {
            wire: granted,
            guard: guard.clone(),
        };
        let looking = AssertUnwindSafe(async { verify(lookup).await.into() }).catch_unwind();
        let observation = tokio::select! {
            biased;
            done = looking => done.unwrap_or_else(|panic| {
                Observation::unknown(format_args!("the lookup panicked: {}", message(panic.as_ref())))
            }),
            () = guard.lost() => {
                if self.worker.stops() {
                    return Err(Error::Stopping);
                }
                Observation::unknown("the lease ended before the lookup did")
            }
        };
        self.worker.verify(hold, observation, self.then()).await
    }
}

/// What the gate answered.
enum Gate {
    Open,
    /// Do not send; this is the next step instead.
    Shut(Box<Turn>),
    /// Nothing, for as long as the lease was surely live; or something else than it may have said before.
    Silent,
}

fn refused_by_guard(detail: &str) -> Receipt {
    Receipt::not_sent(NotSentReason::GuardRefused, detail)
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
