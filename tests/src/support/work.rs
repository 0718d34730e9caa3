//! Workers and screens as plain API calls, for tests that say themselves what is called when.
//!
//! Owns the filling in of messages. Nothing is repeated, renewed or guarded: that is `deed-client`'s work.

use anyhow::{Context, bail};
use deed_client::{Contract, Observation, Receipt};
use deed_proto::v1;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::operations_client::OperationsClient;
use deed_proto::v1::ownership_client::OwnershipClient;
use deed_proto::v1::renew_result;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;
use v1::next_step::Kind;

/// The namespace of a test that needs only one.
pub const NAMESPACE: &str = "shop";

/// The tool of a test that needs only one.
pub const TOOL: &str = "charge_card";

/// A new request id.
pub fn request_id() -> String {
    Uuid::new_v4().to_string()
}

/// A connection that is made with the first call. For `http://HOST:PORT` only.
pub fn channel(url: &str) -> anyhow::Result<Channel> {
    Ok(Endpoint::from_shared(url.to_owned())?.connect_lazy())
}

/// An action, by its key and what a claim says of it.
#[derive(Clone, Debug)]
pub struct Work {
    pub key: v1::ActionKey,
    pub specification: v1::Specification,
}

impl Work {
    pub fn new(action_id: &str, contract: &Contract) -> Self {
        let key = v1::ActionKey {
            namespace: NAMESPACE.to_owned(),
            action_id: action_id.to_owned(),
        };
        let specification = v1::Specification {
            tool: TOOL.to_owned(),
            input_hash: Some(input_hash(0)),
            expected_effect: None,
            contract: Some(contract.to_wire()),
            labels: Vec::new(),
        };
        Self { key, specification }
    }

    /// An action that no other test and no other round has.
    pub fn fresh(contract: &Contract) -> Self {
        Self::new(&format!("order-{}", Uuid::new_v4().simple()), contract)
    }

    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.key.namespace);
        self
    }

    pub fn with_tool(mut self, tool: &str) -> Self {
        tool.clone_into(&mut self.specification.tool);
        self
    }

    pub fn with_facts(mut self, facts: &[&str]) -> Self {
        self.specification.expected_effect = Some(v1::ExpectedEffect {
            description: String::new(),
            facts: facts.iter().map(|fact| (*fact).to_owned()).collect(),
        });
        self
    }

    /// The same action with another input.
    pub fn with_input(mut self, input: u8) -> Self {
        self.specification.input_hash = Some(input_hash(input));
        self
    }

    pub fn id(&self) -> &str {
        &self.key.action_id
    }
}

fn input_hash(input: u8) -> v1::InputHash {
    v1::InputHash {
        scheme: "jcs-sha256".to_owned(),
        digest: vec![input; 32],
    }
}

/// One worker instance.
#[derive(Clone, Debug)]
pub struct Worker {
    pub channel: Channel,
    pub owner: String,
}

type Called = Result<v1::Answer, Status>;

fn answer(answer: Option<v1::Answer>) -> Called {
    answer.ok_or_else(|| Status::data_loss("the response has no answer"))
}

impl Worker {
    pub fn new(channel: Channel, owner: &str) -> Self {
        Self {
            channel,
            owner: owner.to_owned(),
        }
    }

    /// With a connection of its own.
    pub fn at(url: &str, owner: &str) -> anyhow::Result<Self> {
        Ok(Self::new(channel(url)?, owner))
    }

    pub fn ownership(&self) -> OwnershipClient<Channel> {
        OwnershipClient::new(self.channel.clone())
    }

    pub fn claim_request(&self, work: &Work, begin: bool) -> v1::ClaimRequest {
        v1::ClaimRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            specification: Some(work.specification.clone()),
            begin,
        }
    }

    /// As it is; for repeats.
    pub async fn send_claim(&self, request: v1::ClaimRequest) -> Called {
        answer(self.ownership().claim(request).await?.into_inner().answer)
    }

    /// Without begin.
    pub async fn claim(&self, work: &Work) -> Called {
        self.send_claim(self.claim_request(work, false)).await
    }

    pub async fn claim_begun(&self, work: &Work) -> Called {
        self.send_claim(self.claim_request(work, true)).await
    }

    pub async fn plan(&self, work: &Work) -> Called {
        let request = v1::PlanRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            specification: Some(work.specification.clone()),
        };
        answer(self.ownership().plan(request).await?.into_inner().answer)
    }

    pub async fn begin(&self, work: &Work, fencing_token: u64) -> Called {
        let request = v1::BeginRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            fencing_token,
        };
        answer(self.ownership().begin(request).await?.into_inner().answer)
    }

    pub fn report_request(&self, work: &Work, fencing_token: u64, receipt: &Receipt) -> v1::ReportRequest {
        v1::ReportRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            fencing_token,
            receipt: Some(receipt.to_wire()),
            then: v1::Then::Nothing.into(),
            specification: None,
        }
    }

    pub async fn send_report(&self, request: v1::ReportRequest) -> Called {
        answer(self.ownership().report(request).await?.into_inner().answer)
    }

    pub async fn report(&self, work: &Work, fencing_token: u64, receipt: &Receipt) -> Called {
        self.send_report(self.report_request(work, fencing_token, receipt))
            .await
    }

    pub async fn verify(
        &self,
        work: &Work,
        fencing_token: u64,
        observation: &Observation,
        then: v1::Then,
    ) -> Called {
        let request = v1::VerifyRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            fencing_token,
            observation: Some(observation.to_wire()),
            then: then.into(),
        };
        answer(self.ownership().verify(request).await?.into_inner().answer)
    }

    pub async fn release(&self, work: &Work, fencing_token: u64) -> Called {
        let request = v1::ReleaseRequest {
            key: Some(work.key.clone()),
            owner: self.owner.clone(),
            request_id: request_id(),
            fencing_token,
        };
        answer(self.ownership().release(request).await?.into_inner().answer)
    }

    /// One lease; what became of it.
    pub async fn renew(&self, work: &Work, fencing_token: u64) -> anyhow::Result<renew_result::Result> {
        let request = v1::RenewRequest {
            owner: self.owner.clone(),
            request_id: request_id(),
            leases: vec![v1::RenewEntry {
                key: Some(work.key.clone()),
                fencing_token,
            }],
        };
        let response = self.ownership().renew(request).await?.into_inner();
        let result = response.results.into_iter().next();
        result
            .and_then(|result| result.result)
            .context("the response has no result")
    }

    pub async fn observe(&self, work: &Work, observation: &Observation) -> Called {
        let target = v1::observe_request::Target::Key(work.key.clone());
        self.observe_at(target, observation).await
    }

    pub async fn observe_at(&self, target: v1::observe_request::Target, observation: &Observation) -> Called {
        let request = v1::ObserveRequest {
            target: Some(target),
            owner: self.owner.clone(),
            request_id: request_id(),
            observation: Some(observation.to_wire()),
        };
        answer(self.ownership().observe(request).await?.into_inner().answer)
    }

    pub fn screen(&self) -> Screen {
        Screen(self.channel.clone())
    }
}

/// Who only looks, and who decides.
#[derive(Clone, Debug)]
pub struct Screen(pub Channel);

impl Screen {
    pub fn at(url: &str) -> anyhow::Result<Self> {
        Ok(Self(channel(url)?))
    }

    pub fn ledger(&self) -> LedgerClient<Channel> {
        LedgerClient::new(self.0.clone())
    }

    pub fn operations(&self) -> OperationsClient<Channel> {
        OperationsClient::new(self.0.clone())
    }

    pub async fn action(&self, work: &Work) -> Result<v1::Action, Status> {
        let request = v1::GetActionRequest {
            key: Some(work.key.clone()),
        };
        Ok(self.ledger().get_action(request).await?.into_inner())
    }

    /// The whole history.
    pub async fn events(&self, work: &Work) -> Result<Vec<v1::Event>, Status> {
        let mut request = v1::ListEventsRequest {
            key: Some(work.key.clone()),
            ..v1::ListEventsRequest::default()
        };
        let mut events = Vec::new();
        loop {
            let page = self.ledger().list_events(request.clone()).await?.into_inner();
            events.extend(page.events);
            if page.next_page_token.is_empty() {
                return Ok(events);
            }
            request.page_token = page.next_page_token;
        }
    }
}

/// The next step of an answer as what a test expects; an error that shows the answer where it is another.
pub trait Told {
    fn execute(&self) -> anyhow::Result<v1::Execute>;
    fn verify_effect(&self) -> anyhow::Result<v1::VerifyEffect>;
    fn claimable(&self) -> anyhow::Result<v1::Claimable>;
    fn wait(&self) -> anyhow::Result<v1::Wait>;
    fn held(&self) -> anyhow::Result<v1::Held>;
    fn settled(&self) -> anyhow::Result<v1::Settled>;
    fn blocked(&self) -> anyhow::Result<v1::Blocked>;
}

macro_rules! told {
    ($($name:ident $kind:ident;)*) => {
        impl Told for v1::Answer {
            $(fn $name(&self) -> anyhow::Result<v1::$kind> {
                match self.next_step.as_ref().and_then(|step| step.kind.clone()) {
                    Some(Kind::$kind(step)) => Ok(step),
                    other => bail!("expected {}, was told {other:?} ({:?})", stringify!($kind), self.state()),
                }
            })*
        }
    };
}

told! {
    execute Execute;
    verify_effect VerifyEffect;
    claimable Claimable;
    wait Wait;
    held Held;
    settled Settled;
    blocked Blocked;
}
