//! A shop that charges cards through Deed: one server, the receiver, and as many clients as a test wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, ensure};
use deed_client::{Action, Contract, Deed, Error, Outcome};
use deed_proto::v1;
use deed_tests::receiver::{Application, EffectRequest, Receiver, ReceiverClient};
use deed_tests::support::adapter;
use deed_tests::support::server::Options;
use deed_tests::support::work::{NAMESPACE, Screen, TOOL, Work};

use crate::{Field, PATIENCE, ms, within};

/// The business id of a test that needs only one.
pub const ORDER: &str = "order-4821";

/// Absence is believed this much sooner than with the default: no clock is stepped here.
pub const CLOCK_STEP: [&str; 2] = ["--max-clock-step", "100ms"];

pub struct Shop {
    pub field: Field,
    pub receiver: Receiver,
    pub client: ReceiverClient,
}

/// A worker process's share of a shop: it counts how often it acted.
#[derive(Clone)]
pub struct Clerk {
    pub deed: Deed,
    pub client: ReceiverClient,
    pub sends: Arc<AtomicU32>,
    pub lookups: Arc<AtomicU32>,
}

impl Shop {
    pub async fn open() -> anyhow::Result<Self> {
        let field = Field::with(Options::default().with(&CLOCK_STEP)).await?;
        let receiver = Receiver::start().await?;
        let client = receiver.client(PATIENCE)?;
        Ok(Self {
            field,
            receiver,
            client,
        })
    }

    pub fn clerk(&self) -> anyhow::Result<Clerk> {
        Clerk::at(&self.field.server().url(), self.client.clone())
    }

    pub fn screen(&self) -> anyhow::Result<Screen> {
        Screen::at(&self.field.server().url())
    }

    pub async fn action(&self, id: &str) -> anyhow::Result<v1::Action> {
        Ok(self.screen()?.action(&named(id)).await?)
    }

    pub async fn events(&self, id: &str) -> anyhow::Result<Vec<v1::Event>> {
        Ok(self.screen()?.events(&named(id)).await?)
    }

    /// The one effect that there is.
    pub fn one_effect(&self, id: &str) -> anyhow::Result<Application> {
        let mut effects = self.receiver.effects(id);
        ensure!(
            effects.len() == 1,
            "{} effects for {id}: {effects:?}",
            effects.len()
        );
        effects.pop().context("just counted")
    }
}

/// For looking at an action whose specification does not matter.
pub fn named(id: &str) -> Work {
    Work::new(id, &crate::serialized())
}

/// A receiver that deduplicates nothing; tried again soon, absence believed soon.
pub fn quick() -> Contract {
    let retry = deed_client::Retry::default().backoff(ms(50), 1.5, ms(300));
    Contract::serialized(ms(200)).retry(retry).send_timeout(ms(2_000))
}

impl Clerk {
    pub fn at(url: &str, client: ReceiverClient) -> anyhow::Result<Self> {
        let deed = Deed::builder()
            .namespace(NAMESPACE)
            .call_timeout(ms(5_000))
            .connect(url)?;
        Ok(Self {
            deed,
            client,
            sends: Arc::default(),
            lookups: Arc::default(),
        })
    }

    pub fn action(&self, id: &str, contract: Contract) -> Action {
        let action = self.deed.action(id).tool(TOOL);
        action.input_bytes(id.as_bytes()).contract(contract)
    }

    /// Charges the order of this name.
    pub async fn charge(&self, id: &str, contract: Contract) -> anyhow::Result<Outcome> {
        Ok(self.perform(self.action(id, contract), charge(id)).await?)
    }

    pub async fn perform(&self, action: Action, request: EffectRequest) -> Result<Outcome, Error> {
        let performing = action.perform(
            |grant| {
                self.sends.fetch_add(1, Ordering::SeqCst);
                let request = request
                    .clone()
                    .with_key(grant.outward_key())
                    .with_token(grant.token().number());
                let client = self.client.clone();
                async move { adapter::send(&client, &request).await }
            },
            |lookup| {
                self.lookups.fetch_add(1, Ordering::SeqCst);
                let (client, id) = (self.client.clone(), request.business_id.clone());
                async move { adapter::look_up(&client, &id, &lookup).await }
            },
        );
        match within("the outcome", performing).await {
            Ok(outcome) => outcome,
            Err(_late) => Err(Error::Stopping),
        }
    }

    pub fn sends(&self) -> u32 {
        self.sends.load(Ordering::SeqCst)
    }

    pub fn lookups(&self) -> u32 {
        self.lookups.load(Ordering::SeqCst)
    }
}

pub fn charge(id: &str) -> EffectRequest {
    EffectRequest::new(id, "charge", &[])
}
