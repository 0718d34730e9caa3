//! The calls of workers and witnesses, from the message of a request to what its answer holds. Each is here once: unary
//! calls, batches and sessions differ only in what they wrap around it.

use deed_core::command::Command;
use deed_core::reply::Reply;
use deed_proto::v1;
use futures::future::join_all;
use tokio::time::timeout_at;

use super::clock::Life;
use super::edge::{Edge, command};
use super::error::Failure;
use super::parse::calls::{Call, Target, observe};
use super::parse::renew;
use super::tell::{step, time};
use crate::auth::{Caller, Right};
use crate::service::ledger::Ledger;
use crate::service::{Error, Judge, Judged};

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// A call of a worker about one action.
    pub(super) async fn work<M: Call>(
        &self,
        caller: &Caller,
        life: Life,
        message: M,
    ) -> Result<v1::Answer, Failure> {
        let command = command(caller, message)?;
        self.answer(command, life).await
    }

    /// `Renew`.
    pub(super) async fn renew(
        &self,
        caller: &Caller,
        life: Life,
        message: v1::RenewRequest,
    ) -> Result<v1::RenewResponse, Failure> {
        let entries = renew::renew(message, caller.principal().clone())?;
        let allowed = |command: Command| -> Result<Command, Failure> {
            caller.may(Right::Work, &command.key.namespace)?;
            Ok(command)
        };
        let entries: Vec<_> = entries
            .into_iter()
            .map(|entry| entry.map_err(Failure::from).and_then(allowed))
            .collect();
        let short = life.shortened();
        let results = entries.into_iter().map(|entry| async move {
            let judged = match entry {
                Ok(command) => self.entry(command, short).await,
                Err(failure) => Err(failure),
            };
            let result = judged.map_or_else(
                |failure| v1::renew_result::Result::Error(failure.told().into()),
                renewed,
            );
            v1::RenewResult { result: Some(result) }
        });
        Ok(v1::RenewResponse {
            results: join_all(results).await,
        })
    }

    /// One entry of a call that has many; `short` is the call's shortened life.
    pub(super) async fn entry(&self, command: Command, short: Life) -> Result<Judged, Failure> {
        // SUBTLE: each entry gives up before the call does. Else one row that somebody holds would cost the caller the
        // answers about all its other leases, and with them the leases (B06).
        timeout_at(short.deadline.into(), self.judge(command, short))
            .await
            .unwrap_or_else(|_elapsed| Err(Error::DeadlineExceeded.into()))
    }

    /// `Observe`.
    pub(super) async fn observe(
        &self,
        caller: &Caller,
        life: Life,
        message: v1::ObserveRequest,
    ) -> Result<v1::Answer, Failure> {
        let observed = observe(message, caller.principal().clone())?;
        // Before anything is looked for: a stranger learns nothing from how it is refused.
        caller.may(Right::Observe, observed.target.namespace())?;
        let key = match observed.target {
            Target::Key(key) => key,
            Target::External {
                namespace,
                tool,
                external_id,
            } => {
                let found = self.ledger.find_external(&namespace, &tool, &external_id);
                found.await?.ok_or(Failure::ExternalIdUnknown)?
            }
        };
        let command = Command {
            key,
            request: observed.request,
            ask: observed.ask,
        };
        self.answer(command, life).await
    }

    /// `ClaimDue`.
    pub(super) async fn claim_due(
        &self,
        _caller: &Caller,
        _life: Life,
        _message: v1::ClaimDueRequest,
    ) -> Result<v1::ClaimDueResponse, Failure> {
        Err(Failure::NotServed { call: "ClaimDue" })
    }
}

/// A renewal's lease, as told.
fn renewed(judged: Judged) -> v1::renew_result::Result {
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
