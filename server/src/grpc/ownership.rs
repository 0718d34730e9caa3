//! The calls of workers and witnesses, as unary calls, and the stream that carries them all.

use deed_proto::v1;
use deed_proto::v1::ownership_server::Ownership;
use tonic::{Request, Response, Status, Streaming};

use super::edge::{Edge, caller, life};
use super::session::Answers;
use crate::service::Judge;
use crate::service::ledger::Ledger;

/// Answers a unary call with what its function makes of the message.
macro_rules! unary {
    ($self:ident.$call:ident($request:ident $(.$field:ident)?) => $wrap:expr) => {{
        let (caller, life) = (caller(&$request)?, life(&$request));
        let answer = $self.$call(&caller, life, $request.into_inner()$(.$field)?).await?;
        Ok(Response::new($wrap(answer)))
    }};
    ($self:ident.$call:ident($request:ident $(.$field:ident)?) -> $Response:ident { $holds:ident }) => {
        unary!($self.$call($request $(.$field)?) => |answer| v1::$Response { $holds: answer })
    };
    ($self:ident.$call:ident($request:ident) -> $Response:ident) => {
        unary!($self.$call($request) => |answer| v1::$Response { answer: Some(answer) })
    };
}

#[tonic::async_trait]
impl<J: Judge, L: Ledger> Ownership for Edge<J, L> {
    async fn plan(&self, request: Request<v1::PlanRequest>) -> Result<Response<v1::PlanResponse>, Status> {
        unary!(self.work(request) -> PlanResponse)
    }

    async fn claim(&self, request: Request<v1::ClaimRequest>) -> Result<Response<v1::ClaimResponse>, Status> {
        unary!(self.work(request) -> ClaimResponse)
    }

    async fn begin(&self, request: Request<v1::BeginRequest>) -> Result<Response<v1::BeginResponse>, Status> {
        unary!(self.work(request) -> BeginResponse)
    }

    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        unary!(self.work(request) -> ReportResponse)
    }

    async fn verify(
        &self,
        request: Request<v1::VerifyRequest>,
    ) -> Result<Response<v1::VerifyResponse>, Status> {
        unary!(self.work(request) -> VerifyResponse)
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        unary!(self.work(request) -> ReleaseResponse)
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::RenewResponse>, Status> {
        unary!(self.renew(request) => std::convert::identity)
    }

    async fn observe(
        &self,
        request: Request<v1::ObserveRequest>,
    ) -> Result<Response<v1::ObserveResponse>, Status> {
        unary!(self.observe(request) -> ObserveResponse)
    }

    async fn claim_due(
        &self,
        request: Request<v1::ClaimDueRequest>,
    ) -> Result<Response<v1::ClaimDueResponse>, Status> {
        unary!(self.claim_due(request) => std::convert::identity)
    }

    async fn batch_claim(
        &self,
        request: Request<v1::BatchClaimRequest>,
    ) -> Result<Response<v1::BatchClaimResponse>, Status> {
        unary!(self.batch(request.entries) -> BatchClaimResponse { results })
    }

    async fn batch_report(
        &self,
        request: Request<v1::BatchReportRequest>,
    ) -> Result<Response<v1::BatchReportResponse>, Status> {
        unary!(self.batch(request.entries) -> BatchReportResponse { results })
    }

    type SessionStream = Answers;

    async fn session(
        &self,
        request: Request<Streaming<v1::SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let caller = caller(&request)?;
        Ok(Response::new(self.session(caller, request.into_inner())?))
    }
}
