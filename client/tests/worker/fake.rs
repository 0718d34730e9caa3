//! A scripted Ownership service on loopback: answers what a test has said, in order, and keeps every call.
//!
//! It decides nothing. A method with no script left answers as an action that is settled; renewals prolong every lease.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deed_client::{Builder, Deed, v1};
use deed_proto::v1::ownership_server::{Ownership, OwnershipServer};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_types::StatusExt;
use v1::next_step::Kind;
use v1::renew_result::Result as Renewal;

use crate::opened::{Answers, Opened};
use crate::steps::{answer, renewed, settled};

/// One call as it arrived.
#[derive(Clone, Debug)]
pub enum Call {
    Plan,
    Claim(v1::ClaimRequest),
    Begin,
    Report(v1::ReportRequest),
    Verify(v1::VerifyRequest),
    Renew(v1::RenewRequest),
    Release,
}

impl Call {
    fn method(&self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Claim(_) => "Claim",
            Self::Begin => "Begin",
            Self::Report(_) => "Report",
            Self::Verify(_) => "Verify",
            Self::Renew(_) => "Renew",
            Self::Release => "Release",
        }
    }
}

/// What the script says about one call.
pub enum Reply {
    Step(Kind),
    Error(Status),
    /// The call arrives and its answer never does.
    Silence,
    /// The answer comes only once the sender says so.
    When(watch::Receiver<bool>, Kind),
    /// For `Renew`: one result for every lease.
    Renewal(Renewal),
}

#[derive(Default)]
struct Script {
    replies: HashMap<&'static str, VecDeque<Reply>>,
    calls: Vec<(Instant, Call)>,
    /// How often a session was asked for.
    sessions: usize,
}

/// The service. Ends when dropped.
pub struct Fake {
    script: Arc<Mutex<Script>>,
    arrivals: watch::Receiver<usize>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

/// Answers by the script, whichever way a call came.
#[derive(Clone)]
pub struct Service {
    script: Arc<Mutex<Script>>,
    arrivals: Arc<watch::Sender<usize>>,
    /// Where sessions are handed over; without it there are none.
    sessions: Option<mpsc::UnboundedSender<Opened>>,
}

impl Fake {
    pub async fn start() -> Self {
        Self::serving(None).await
    }

    /// With sessions, which the test itself answers.
    pub async fn with_sessions() -> (Self, mpsc::UnboundedReceiver<Opened>) {
        let (sessions, opened) = mpsc::unbounded_channel();
        (Self::serving(Some(sessions)).await, opened)
    }

    async fn serving(sessions: Option<mpsc::UnboundedSender<Opened>>) -> Self {
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = incoming.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script::default()));
        let (sender, arrivals) = watch::channel(0);
        let service = Service {
            script: script.clone(),
            arrivals: Arc::new(sender),
            sessions,
        };
        let server = tokio::spawn(async move {
            let server = Server::builder().add_service(OwnershipServer::new(service));
            server.serve_with_incoming(incoming).await.unwrap();
        });
        Self {
            script,
            arrivals,
            address,
            server,
        }
    }

    /// A client that does not wait for long.
    pub fn client(&self) -> Builder {
        Deed::builder()
            .owner("worker-1")
            .patience(Duration::from_secs(5))
            .call_timeout(Duration::from_secs(2))
    }

    pub fn connect(&self, builder: Builder) -> Deed {
        builder.connect(&format!("http://{}", self.address)).unwrap()
    }

    pub fn deed(&self) -> Deed {
        self.connect(self.client())
    }

    pub fn on(&self, method: &'static str, reply: Reply) -> &Self {
        let mut script = self.script.lock().unwrap();
        script.replies.entry(method).or_default().push_back(reply);
        drop(script);
        self
    }

    pub fn step(&self, method: &'static str, kind: Kind) -> &Self {
        self.on(method, Reply::Step(kind))
    }

    /// From here on the method answers by default.
    pub fn recover(&self, method: &'static str) {
        self.script.lock().unwrap().replies.remove(method);
    }

    /// Waits until a method has been called so often, and gives the calls.
    pub async fn seen(&self, method: &str, count: usize) -> Vec<(Instant, Call)> {
        let mut arrivals = self.arrivals.clone();
        let enough = async {
            while self.calls(method).len() < count {
                arrivals.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), enough).await;
        assert!(
            waited.is_ok(),
            "{count} {method} calls did not come; so far {:?}",
            self.order()
        );
        self.calls(method)
    }

    pub fn calls(&self, method: &str) -> Vec<(Instant, Call)> {
        let script = self.script.lock().unwrap();
        let calls = script.calls.iter().filter(|(_, call)| call.method() == method);
        calls.cloned().collect()
    }

    /// How often a session was asked for.
    pub fn sessions(&self) -> usize {
        self.script.lock().unwrap().sessions
    }

    pub async fn reports(&self, count: usize) -> Vec<v1::ReportRequest> {
        let calls = self.seen("Report", count).await;
        calls.into_iter().map(|(_, call)| report(call)).collect()
    }

    pub async fn claims(&self, count: usize) -> Vec<v1::ClaimRequest> {
        let calls = self.seen("Claim", count).await;
        calls.into_iter().map(|(_, call)| claim(call)).collect()
    }

    /// The methods called so far, renewals apart.
    pub fn order(&self) -> Vec<&'static str> {
        let script = self.script.lock().unwrap();
        let methods = script.calls.iter().map(|(_, call)| call.method());
        methods.filter(|&method| method != "Renew").collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn report(call: Call) -> v1::ReportRequest {
    match call {
        Call::Report(request) => request,
        other => panic!("{other:?} is no report"),
    }
}

fn claim(call: Call) -> v1::ClaimRequest {
    match call {
        Call::Claim(request) => request,
        other => panic!("{other:?} is no claim"),
    }
}

impl Service {
    fn next(&self, call: Call) -> Option<Reply> {
        let mut script = self.script.lock().unwrap();
        let method = call.method();
        script.calls.push((Instant::now(), call));
        let reply = script.replies.get_mut(method).and_then(VecDeque::pop_front);
        drop(script);
        self.arrivals.send_modify(|count| *count += 1);
        reply
    }

    pub async fn answer(&self, call: Call) -> Result<Option<v1::Answer>, Status> {
        match self.next(call) {
            None => Ok(Some(answer(settled("X")))),
            Some(Reply::Step(kind)) => Ok(Some(answer(kind))),
            Some(Reply::Error(status)) => Err(status),
            Some(Reply::Silence) => std::future::pending().await,
            Some(Reply::When(mut gate, kind)) => {
                gate.wait_for(|open| *open).await.unwrap();
                Ok(Some(answer(kind)))
            }
            Some(Reply::Renewal(_)) => panic!("a renewal was scripted for another call"),
        }
    }
}

fn entry_error(status: &Status) -> v1::EntryError {
    let info = status.get_error_details().error_info().cloned();
    v1::EntryError {
        code: status.code().into(),
        reason: info.map(|info| info.reason).unwrap_or_default(),
        message: status.message().to_owned(),
        ..v1::EntryError::default()
    }
}

macro_rules! answered {
    ($self:ident $call:expr, $Response:ident) => {{
        let answer = $self.answer($call).await?;
        Ok(Response::new(v1::$Response { answer }))
    }};
}

type Answered<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Ownership for Service {
    async fn plan(&self, _: Request<v1::PlanRequest>) -> Answered<v1::PlanResponse> {
        answered!(self Call::Plan, PlanResponse)
    }

    async fn claim(&self, request: Request<v1::ClaimRequest>) -> Answered<v1::ClaimResponse> {
        answered!(self Call::Claim(request.into_inner()), ClaimResponse)
    }

    async fn begin(&self, _: Request<v1::BeginRequest>) -> Answered<v1::BeginResponse> {
        answered!(self Call::Begin, BeginResponse)
    }

    async fn report(&self, request: Request<v1::ReportRequest>) -> Answered<v1::ReportResponse> {
        answered!(self Call::Report(request.into_inner()), ReportResponse)
    }

    async fn verify(&self, request: Request<v1::VerifyRequest>) -> Answered<v1::VerifyResponse> {
        answered!(self Call::Verify(request.into_inner()), VerifyResponse)
    }

    async fn release(&self, _: Request<v1::ReleaseRequest>) -> Answered<v1::ReleaseResponse> {
        answered!(self Call::Release, ReleaseResponse)
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Answered<v1::RenewResponse> {
        let request = request.into_inner();
        let leases = request.leases.len();
        let renewal = match self.next(Call::Renew(request)) {
            None => renewed(Duration::from_secs(3)),
            Some(Reply::Renewal(renewal)) => renewal,
            Some(Reply::Silence) => std::future::pending().await,
            Some(Reply::Error(status)) => return Err(status),
            Some(Reply::Step(_) | Reply::When(..)) => panic!("a step was scripted for a renewal"),
        };
        let result = v1::RenewResult {
            result: Some(renewal),
        };
        Ok(Response::new(v1::RenewResponse {
            results: vec![result; leases],
        }))
    }

    async fn observe(&self, _: Request<v1::ObserveRequest>) -> Answered<v1::ObserveResponse> {
        Err(Status::unimplemented("Observe"))
    }

    async fn claim_due(&self, _: Request<v1::ClaimDueRequest>) -> Answered<v1::ClaimDueResponse> {
        Err(Status::unimplemented("ClaimDue"))
    }

    async fn batch_claim(&self, request: Request<v1::BatchClaimRequest>) -> Answered<v1::BatchClaimResponse> {
        let mut results = Vec::new();
        for entry in request.into_inner().entries {
            let result = match self.answer(Call::Claim(entry)).await {
                Ok(answer) => v1::batch_result::Result::Answer(answer.unwrap()),
                Err(status) => v1::batch_result::Result::Error(entry_error(&status)),
            };
            let result = Some(result);
            results.push(v1::BatchResult { result });
        }
        Ok(Response::new(v1::BatchClaimResponse { results }))
    }

    async fn batch_report(&self, _: Request<v1::BatchReportRequest>) -> Answered<v1::BatchReportResponse> {
        Err(Status::unimplemented("BatchReport"))
    }

    type SessionStream = Answers;

    async fn session(&self, request: Request<tonic::Streaming<v1::SessionRequest>>) -> Answered<Answers> {
        self.script.lock().unwrap().sessions += 1;
        let Some(sessions) = &self.sessions else {
            return Err(Status::unimplemented("Session"));
        };
        let (opened, answers) = Opened::new(request.into_inner(), self.clone());
        sessions.send(opened).unwrap();
        Ok(Response::new(answers))
    }
}
