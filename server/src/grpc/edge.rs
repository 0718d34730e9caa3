//! What every handler needs: judging, reading, the caller's principal.

use std::sync::Arc;
use std::time::Instant;

use deed_core::Protocol;
use deed_core::command::Command;
use deed_core::id::ActionKey;
use deed_core::reply::{Refusal, Reply};
use deed_core::text::Principal;
use deed_proto::v1;
use tokio_util::sync::CancellationToken;

use super::clock::{DEFAULT_DEADLINE, Life};
use super::error::Failure;
use super::parse::{At, Invalid, calls};
use super::tell::{action, step};
use crate::service::ledger::Ledger;
use crate::service::{self, Call, Judge, Judged};

/// Serves `Ownership`, `Ledger` and `Operations` for one judge and one ledger.
#[derive(Debug)]
pub struct Edge<J, L> {
    pub(super) judge: Arc<J>,
    pub(super) ledger: Arc<L>,
    pub(super) protocol: Protocol,
    pub(super) stop: CancellationToken,
}

impl<J, L> Clone for Edge<J, L> {
    fn clone(&self) -> Self {
        Self {
            judge: Arc::clone(&self.judge),
            ledger: Arc::clone(&self.ledger),
            protocol: self.protocol,
            stop: self.stop.clone(),
        }
    }
}

/// The principal of every caller that reaches the loopback: whoever runs on this machine is trusted as one.
const LOCAL: &str = "local";

/// The caller's principal: the one place that knows where it comes from.
pub(super) fn principal<T>(_request: &tonic::Request<T>) -> Result<Principal, Failure> {
    let local = Principal::new(LOCAL).map_err(Invalid::from);
    Ok(local.at("principal")?)
}

/// The life that the envelope gave to a call.
pub(super) fn life<T>(request: &tonic::Request<T>) -> Life {
    let given = request.extensions().get::<Life>().copied();
    given.unwrap_or_else(|| Life::lasting(DEFAULT_DEADLINE))
}

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// An edge that ends its long waits when `stop` is cancelled.
    pub fn new(judge: Arc<J>, ledger: Arc<L>, protocol: Protocol, stop: CancellationToken) -> Self {
        Self {
            judge,
            ledger,
            protocol,
            stop,
        }
    }

    /// Judges one command, unless its caller has given up.
    pub(super) async fn judge(&self, command: Command, life: Life) -> Result<Judged, Failure> {
        if Instant::now() >= life.deadline {
            return Err(service::Error::DeadlineExceeded.into());
        }
        let call = Call {
            command,
            arrived: life.arrived,
            deadline: life.deadline,
        };
        Ok(self.judge.judge(call).await?)
    }

    /// Judges a call of a worker or witness.
    pub(super) async fn answer(&self, command: Command, life: Life) -> Result<v1::Answer, Failure> {
        let judged = self.judge(command, life).await?;
        match judged.reply {
            Reply::Step(answer) => Ok(step::answer(*answer, judged.waited, judged.now)),
            // Only a renewal is answered so, and a renewal does not come here.
            Reply::Renewed { .. } => Ok(v1::Answer::default()),
        }
    }

    /// Parses and judges a call of a worker.
    pub(super) async fn call<M: calls::Call>(
        &self,
        request: tonic::Request<M>,
    ) -> Result<v1::Answer, Failure> {
        let (principal, life) = (principal(&request)?, life(&request));
        let command = request.into_inner().command(principal)?;
        self.answer(command, life).await
    }

    /// One action as it stands, and the stored version.
    pub(super) async fn view(&self, key: &ActionKey) -> Result<v1::Action, Failure> {
        match self.ledger.action(key).await? {
            Some((stored, now)) => {
                let whole = action::Extent::Whole;
                Ok(action::action(&self.protocol, &stored, now, whole))
            }
            None => Err(Refusal::ActionNotFound.into()),
        }
    }
}

/// A renewal's lease, as told.
pub(super) fn renewed(judged: Judged) -> v1::renew_result::Result {
    use super::tell::time;
    use v1::renew_result::Result as Kind;
    match judged.reply {
        Reply::Renewed {
            lease_left,
            expires_at,
        } => Kind::Renewed(v1::renew_result::Renewed {
            lease_left: Some(time::span(lease_left)),
            lease_expires_at: Some(time::point(expires_at)),
            waited: Some(time::span(judged.waited)),
        }),
        Reply::Step(answer) => Kind::Lost(step::next_step(*answer, judged.waited, judged.now)),
    }
}
