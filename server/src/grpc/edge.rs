//! What every handler needs: who calls, whether it may, judging, reading.
//!
//! A handler takes its caller once with [`caller`], for a unary call or for a whole stream, and asks it about every single
//! thing: [`command`] parses a message about one action and refuses it where the caller lacks the right that the message
//! needs; for what is no such message, `caller.may(right, &namespace)` and `caller.scope(right)` answer. Both go by the
//! policy that is in force when they are asked, so a stream notices that a role was taken back. Nothing is looked up before
//! the caller may see it.

use std::sync::Arc;
use std::time::Instant;

use deed_core::Protocol;
use deed_core::command::Command;
use deed_core::id::ActionKey;
use deed_core::reply::{Refusal, Reply};
use deed_proto::v1;
use tokio_util::sync::CancellationToken;

use super::clock::{DEFAULT_DEADLINE, Life};
use super::error::Failure;
use super::parse::calls;
use super::tell::{action, step};
use crate::auth::{self, Caller, Keeper, Policy};
use crate::service::ledger::Ledger;
use crate::service::{self, Call, Judge, Judged, Line};

/// Serves `Ownership`, `Ledger` and `Operations` for one judge and one ledger.
#[derive(Debug)]
pub struct Edge<J, L> {
    pub(super) judge: Arc<J>,
    pub(super) ledger: Arc<L>,
    pub(super) protocol: Protocol,
    pub(super) stop: CancellationToken,
    pub(super) keeper: Keeper,
}

impl<J, L> Clone for Edge<J, L> {
    fn clone(&self) -> Self {
        Self {
            judge: Arc::clone(&self.judge),
            ledger: Arc::clone(&self.ledger),
            protocol: self.protocol,
            stop: self.stop.clone(),
            keeper: self.keeper.clone(),
        }
    }
}

/// Who the door let in.
pub(super) fn caller<T>(request: &tonic::Request<T>) -> Result<Arc<Caller>, Failure> {
    match request.extensions().get::<Arc<Caller>>() {
        Some(caller) => Ok(Arc::clone(caller)),
        // It did not come through the door, so nobody knows who it is.
        None => Err(auth::Error::CredentialsMissing.into()),
    }
}

/// Parses a message about one action in the name of its caller, which needs the message's right there.
pub(super) fn command<M: calls::Call>(caller: &Caller, message: M) -> Result<Command, Failure> {
    let command = message.command(caller.principal().clone())?;
    caller.may(M::RIGHT, &command.key.namespace)?;
    Ok(command)
}

/// The life that the envelope gave to a call.
pub(super) fn life<T>(request: &tonic::Request<T>) -> Life {
    let given = request.extensions().get::<Life>().copied();
    Life {
        line: Line::Connection(request.remote_addr()),
        ..given.unwrap_or_else(|| Life::lasting(DEFAULT_DEADLINE))
    }
}

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// An edge that ends its long waits when `stop` is cancelled. Everybody who reaches it may do everything; see
    /// [`Edge::behind`].
    pub fn new(judge: Arc<J>, ledger: Arc<L>, protocol: Protocol, stop: CancellationToken) -> Self {
        Self {
            judge,
            ledger,
            protocol,
            stop,
            keeper: Keeper::new(Policy::local()),
        }
    }

    /// The same edge for those whom this keeper lets in.
    #[must_use]
    pub fn behind(self, keeper: Keeper) -> Self {
        Self { keeper, ..self }
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
        Ok(self.judge.judge_in_turn(life.line, call).await?)
    }

    /// Judges a call of a worker or witness.
    pub(super) async fn answer(&self, command: Command, life: Life) -> Result<v1::Answer, Failure> {
        Ok(told(self.judge(command, life).await?))
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

/// How an action stands, as told.
pub(super) fn told(judged: Judged) -> v1::Answer {
    match judged.reply {
        Reply::Step(answer) => step::answer(*answer, judged.waited, judged.now),
        // Only a renewal is answered so, and a renewal does not come here.
        Reply::Renewed { .. } => v1::Answer::default(),
    }
}
