//! The calls of workers and witnesses.

use std::pin::Pin;

use deed_core::command::Command;
use deed_proto::v1;
use deed_proto::v1::ownership_server::Ownership;
use futures::future::join_all;
use futures::stream::Stream;
use tokio::time::timeout_at;
use tonic::{Request, Response, Status, Streaming};

use super::edge::{Edge, caller, life, renewed};
use super::error::Failure;
use super::parse::calls::{Target, observe};
use super::parse::renew;
use crate::auth::Right;
use crate::service::ledger::Ledger;
use crate::service::{Error, Judge};

/// Wraps an answer in the message of its call.
macro_rules! answered {
    ($self:ident, $request:ident, $response:ident) => {{
        let answer = $self.call($request).await?;
        Ok(Response::new(v1::$response { answer: Some(answer) }))
    }};
}

#[tonic::async_trait]
impl<J: Judge, L: Ledger> Ownership for Edge<J, L> {
    async fn plan(&self, request: Request<v1::PlanRequest>) -> Result<Response<v1::PlanResponse>, Status> {
        answered!(self, request, PlanResponse)
    }

    async fn claim(&self, request: Request<v1::ClaimRequest>) -> Result<Response<v1::ClaimResponse>, Status> {
        answered!(self, request, ClaimResponse)
    }

    async fn begin(&self, request: Request<v1::BeginRequest>) -> Result<Response<v1::BeginResponse>, Status> {
        answered!(self, request, BeginResponse)
    }

    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        answered!(self, request, ReportResponse)
    }

    async fn verify(
        &self,
        request: Request<v1::VerifyRequest>,
    ) -> Result<Response<v1::VerifyResponse>, Status> {
        answered!(self, request, VerifyResponse)
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        answered!(self, request, ReleaseResponse)
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::RenewResponse>, Status> {
        let (caller, life) = (caller(&request)?, life(&request));
        let principal = caller.principal().clone();
        let entries = renew::renew(request.into_inner(), principal).map_err(Failure::from)?;
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
                // SUBTLE: each entry gives up before the call does. Else one row that somebody holds would cost the
                // caller the answers about all its other leases, and with them the leases (B06).
                Ok(command) => timeout_at(short.deadline.into(), self.judge(command, short))
                    .await
                    .unwrap_or_else(|_elapsed| Err(Error::DeadlineExceeded.into())),
                Err(failure) => Err(failure),
            };
            let result = judged.map_or_else(
                |failure| v1::renew_result::Result::Error(failure.told().into()),
                renewed,
            );
            v1::RenewResult { result: Some(result) }
        });
        Ok(Response::new(v1::RenewResponse {
            results: join_all(results).await,
        }))
    }

    async fn observe(
        &self,
        request: Request<v1::ObserveRequest>,
    ) -> Result<Response<v1::ObserveResponse>, Status> {
        let (caller, life) = (caller(&request)?, life(&request));
        let principal = caller.principal().clone();
        let observed = observe(request.into_inner(), principal).map_err(Failure::from)?;
        // Before anything is looked for: a stranger learns nothing from how it is refused.
        caller
            .may(Right::Observe, observed.target.namespace())
            .map_err(Failure::from)?;
        let key = match observed.target {
            Target::Key(key) => key,
            Target::External {
                namespace,
                tool,
                external_id,
            } => {
                let found = self.ledger.find_external(&namespace, &tool, &external_id);
                let found = found.await.map_err(Failure::from)?;
                found.ok_or(Failure::ExternalIdUnknown)?
            }
        };
        let command = Command {
            key,
            request: observed.request,
            ask: observed.ask,
        };
        let answer = self.answer(command, life).await?;
        Ok(Response::new(v1::ObserveResponse { answer: Some(answer) }))
    }

    async fn claim_due(
        &self,
        _: Request<v1::ClaimDueRequest>,
    ) -> Result<Response<v1::ClaimDueResponse>, Status> {
        Err(Failure::NotServed { call: "ClaimDue" }.into())
    }

    async fn batch_claim(
        &self,
        _: Request<v1::BatchClaimRequest>,
    ) -> Result<Response<v1::BatchClaimResponse>, Status> {
        Err(Failure::NotServed { call: "BatchClaim" }.into())
    }

    async fn batch_report(
        &self,
        _: Request<v1::BatchReportRequest>,
    ) -> Result<Response<v1::BatchReportResponse>, Status> {
        Err(Failure::NotServed { call: "BatchReport" }.into())
    }

    type SessionStream = Pin<Box<dyn Stream<Item = Result<v1::SessionResponse, Status>> + Send>>;

    async fn session(
        &self,
        _: Request<Streaming<v1::SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        Err(Failure::NotServed { call: "Session" }.into())
    }
}
