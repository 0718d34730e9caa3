//! The decisions of people in charge. Each is judged like any call and answered with the action as it stands afterwards.

use deed_proto::v1;
use deed_proto::v1::operations_server::Operations;
use tonic::{Request, Response, Status};

use super::edge::{Edge, caller, command, life};
use super::parse::calls::Call;
use crate::service::Judge;
use crate::service::ledger::Ledger;

impl<J: Judge, L: Ledger> Edge<J, L> {
    async fn decide<M: Call>(&self, request: Request<M>) -> Result<Response<v1::Action>, Status> {
        let (caller, life) = (caller(&request)?, life(&request));
        let command = command(&caller, request.into_inner())?;
        let key = command.key.clone();
        self.judge(command, life).await?;
        // Should this fail, the decision stands, and a repeat with the same request id finds it.
        Ok(Response::new(self.view(&key).await?))
    }
}

#[tonic::async_trait]
impl<J: Judge, L: Ledger> Operations for Edge<J, L> {
    async fn approve(&self, request: Request<v1::ApproveRequest>) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }

    async fn deny(&self, request: Request<v1::DenyRequest>) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }

    async fn assign(&self, request: Request<v1::AssignRequest>) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }

    async fn resolve(&self, request: Request<v1::ResolveRequest>) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }

    async fn reopen(&self, request: Request<v1::ReopenRequest>) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }

    async fn acknowledge(
        &self,
        request: Request<v1::AcknowledgeRequest>,
    ) -> Result<Response<v1::Action>, Status> {
        self.decide(request).await
    }
}
