//! A real server on a real Postgres as an engine: the parts of `deed-server` put together in this process, called over
//! gRPC, on a database whose clock is the story's ([`Clock`]).
//!
//! There is no sweeper: it writes what time has decided whenever it comes by, and then answers would differ in their
//! versions from one run to the next. What it does is tested elsewhere.

mod clock;
mod render;
mod specification;
mod wire;

use std::sync::Arc;

use deed_core::Protocol;
use deed_core::time::Span;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::operations_client::OperationsClient;
use deed_proto::v1::ownership_client::OwnershipClient;
use deed_proto::v1::{self, GetActionRequest, ListEventsRequest};
use deed_server::committer::{self, Committer};
use deed_server::grpc::{self, Edge};
use deed_server::service::Gate;
use deed_server::store::{self, Connector, Reader};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::engine::{Ask, Call, Decision, Engine};
use super::script::ActionScript;
use super::told::Told;
use crate::support::{Database, database};
use clock::Clock;

/// A server with its database.
#[derive(Debug)]
pub struct Served {
    clock: Clock,
    ownership: OwnershipClient<Channel>,
    ledger: LedgerClient<Channel>,
    operations: OperationsClient<Channel>,
    /// Stops the server.
    _stop: DropGuard,
    /// Goes last.
    _database: Database,
}

impl Served {
    /// Makes a database with a clock, and a server on it.
    pub async fn start() -> anyhow::Result<Self> {
        let database = database().await;
        let clock = Clock::wind(&database).await?;
        let stored = store::Database::parse(&database.url)?;
        store::migrate(&stored).await?;
        let protocol = Protocol::default();
        let options = committer::Options {
            lanes: 1,
            apart: 1,
            ..committer::Options::default()
        };
        let connector = Arc::new(Connector::new(stored.clone()));
        let committer = Arc::new(Committer::start(connector, protocol, options));
        let gate = Gate::new(committer, 2 * options.lanes * options.batch);
        let reader = Arc::new(Reader::new(stored));
        let edge = Edge::new(Arc::new(gate.clone()), reader, protocol, gate.closing());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let stop = CancellationToken::new();
        tokio::spawn(grpc::serve(edge, listener, stop.clone()));

        let channel = Channel::from_shared(address)?.connect().await?;
        Ok(Self {
            clock,
            ownership: OwnershipClient::new(channel.clone()),
            ledger: LedgerClient::new(channel.clone()),
            operations: OperationsClient::new(channel),
            _stop: stop.drop_guard(),
            _database: database,
        })
    }

    async fn work(&mut self, call: &Call<'_>) -> Result<Told, Status> {
        let answer = match &call.ask {
            Ask::Plan => self.ownership.plan(wire::plan(call)).await?.into_inner().answer,
            Ask::Claim { begin } => {
                let request = wire::claim(call, *begin);
                self.ownership.claim(request).await?.into_inner().answer
            }
            Ask::Begin { token } => {
                let request = wire::begin(call, *token);
                self.ownership.begin(request).await?.into_inner().answer
            }
            Ask::Report {
                token,
                receipt,
                then,
                specified,
            } => {
                let request = wire::report(call, *token, receipt, *then, *specified);
                self.ownership.report(request).await?.into_inner().answer
            }
            Ask::Verify {
                token,
                observation,
                then,
            } => {
                let request = wire::verify(call, *token, observation, *then);
                self.ownership.verify(request).await?.into_inner().answer
            }
            Ask::Release { token } => {
                let request = wire::release(call, *token);
                self.ownership.release(request).await?.into_inner().answer
            }
            Ask::Observe { observation, via } => {
                let request = wire::observe(call, observation, *via);
                self.ownership.observe(request).await?.into_inner().answer
            }
            Ask::Renew { token } => {
                let answer = self.ownership.renew(wire::renew(call, *token)).await?;
                return Ok(render::renewal(answer.into_inner()));
            }
            Ask::Decide {
                version,
                note,
                decision,
            } => {
                let action = self.decide(call, *version, note, decision).await?;
                return Ok(render::decided(&action));
            }
        };
        Ok(render::answer(answer.as_ref()))
    }

    async fn decide(
        &mut self,
        call: &Call<'_>,
        version: u64,
        note: &str,
        decision: &Decision<'_>,
    ) -> Result<v1::Action, Status> {
        let key = Some(specification::key(call.action));
        let request_id = call.request.to_string();
        let note = note.to_owned();
        let decided = match decision {
            Decision::Approve => {
                let request = v1::ApproveRequest {
                    key,
                    request_id,
                    version,
                    note,
                    input_hash: Some(specification::input_hash(call.action)),
                };
                self.operations.approve(request).await?
            }
            Decision::Deny => {
                let request = v1::DenyRequest {
                    key,
                    request_id,
                    version,
                    note,
                };
                self.operations.deny(request).await?
            }
            Decision::Assign(assignee) => {
                let request = v1::AssignRequest {
                    key,
                    request_id,
                    version,
                    note,
                    assignee: (*assignee).to_owned(),
                };
                self.operations.assign(request).await?
            }
            Decision::Resolve { resolution, proof } => {
                let request = v1::ResolveRequest {
                    key,
                    request_id,
                    version,
                    note,
                    proof_reference: (*proof).to_owned(),
                    resolution: Some(wire::resolution(resolution)),
                };
                self.operations.resolve(request).await?
            }
            Decision::Reopen { new_key, proof } => {
                let request = v1::ReopenRequest {
                    key,
                    request_id,
                    version,
                    note,
                    proof_reference: (*proof).to_owned(),
                    new_key: *new_key,
                };
                self.operations.reopen(request).await?
            }
            Decision::Acknowledge(flag) => {
                let request = v1::AcknowledgeRequest {
                    key,
                    request_id,
                    version,
                    note,
                    flag: wire::flag(*flag).into(),
                };
                self.operations.acknowledge(request).await?
            }
        };
        Ok(decided.into_inner())
    }
}

impl Engine for Served {
    async fn at(&mut self, time: Span) -> anyhow::Result<()> {
        self.clock.set(time).await
    }

    async fn commits_take(&mut self, time: Span) -> anyhow::Result<()> {
        self.clock.commits_take(time).await
    }

    async fn call(&mut self, call: &Call<'_>) -> anyhow::Result<Told> {
        Ok(self
            .work(call)
            .await
            .unwrap_or_else(|status| render::refusal(&status)))
    }

    async fn look(&mut self, action: &ActionScript) -> anyhow::Result<Option<Told>> {
        let key = Some(specification::key(action));
        match self.ledger.get_action(GetActionRequest { key }).await {
            Ok(shown) => Ok(Some(render::action(&shown.into_inner()))),
            // A key that is none names no action either.
            Err(status) if matches!(status.code(), Code::NotFound | Code::InvalidArgument) => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    async fn history(&mut self, action: &ActionScript) -> anyhow::Result<Vec<Told>> {
        let mut told = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = ListEventsRequest {
                key: Some(specification::key(action)),
                // Smaller than any history worth paging, so that pages are turned.
                page_size: 3,
                page_token,
            };
            let page = match self.ledger.list_events(request).await {
                Ok(page) => page.into_inner(),
                Err(status) if matches!(status.code(), Code::NotFound | Code::InvalidArgument) => {
                    return Ok(told);
                }
                Err(status) => return Err(status.into()),
            };
            told.extend(page.events.iter().map(render::event));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(told);
            }
        }
    }
}
