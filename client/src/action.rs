//! Saying what an action is, and then having it done.

use std::future::{Future, Ready};
use std::sync::Arc;
use std::time::Duration;

use deed_proto::v1;
use serde::Serialize;

use crate::contract::Contract;
use crate::error::Error;
use crate::grant::{Grant, Lookup};
use crate::hold::Named;
use crate::input::{Input, InputError};
use crate::observation::Observation;
use crate::outcome::Outcome;
use crate::perform::{Able, Performance};
use crate::receipt::Receipt;
use crate::text;
use crate::worker::Worker;

/// One action, until it is performed. Tool, input and contract have to be said; the rest has defaults.
#[derive(Clone, Debug)]
#[must_use = "nothing is claimed before `perform`"]
pub struct Action {
    worker: Worker,
    key: v1::ActionKey,
    tool: Option<String>,
    input: Option<Input>,
    identity: Vec<String>,
    contract: Option<Contract>,
    effect: v1::ExpectedEffect,
    labels: Vec<v1::Label>,
    patience: Duration,
}

impl Action {
    pub(crate) fn new(worker: Worker, action_id: &str) -> Self {
        let settings = worker.settings();
        let key = v1::ActionKey {
            namespace: settings.namespace.clone(),
            action_id: text::key(action_id),
        };
        Self {
            key,
            tool: None,
            input: None,
            identity: Vec::new(),
            contract: None,
            effect: v1::ExpectedEffect::default(),
            labels: Vec::new(),
            patience: settings.patience,
            worker,
        }
    }

    /// Another namespace than the client's own.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.key.namespace = text::key(namespace);
        self
    }

    /// The capability that the action uses, e.g. `charge_card`.
    pub fn tool(mut self, tool: &str) -> Self {
        self.tool = Some(text::key(tool));
        self
    }

    /// What the tool is given. It stays in this process; its hash (RFC 8785 canonical JSON, SHA-256) identifies the
    /// action together with the tool. Integers beyond 2^53 - 1 are refused: write them as text.
    pub fn input(mut self, input: &impl Serialize) -> Result<Self, InputError> {
        self.input = Some(Input::serialized(input)?);
        Ok(self)
    }

    /// As [`Action::input`], from JSON text such as an agent's tool call. Duplicate keys are refused as well.
    pub fn input_json(mut self, json: &str) -> Result<Self, InputError> {
        self.input = Some(Input::text(json)?);
        Ok(self)
    }

    /// As [`Action::input`], from bytes that are hashed as they are.
    pub fn input_bytes(mut self, bytes: &[u8]) -> Self {
        self.input = Some(Input::bytes(bytes));
        self
    }

    /// The fields that identify the input, where the rest may be reworded: the same refund with another note is then the
    /// same action, another amount is `INPUT_MISMATCH`. Names of fields (`order`), of fields within them (`order.id`), or
    /// JSON pointers (`/lines/0/sku`). All of them must be there.
    pub fn identity(mut self, fields: &[&str]) -> Self {
        self.identity = fields.iter().map(|&field| field.to_owned()).collect();
        self
    }

    /// What the tool's receiver can and cannot do.
    pub fn contract(mut self, contract: Contract) -> Self {
        self.contract = Some(contract);
        self
    }

    /// What "done" means, for people, and the names of the facts that a lookup must observe.
    pub fn expected_effect(mut self, description: &str, facts: &[&str]) -> Self {
        self.effect = v1::ExpectedEffect {
            description: description.to_owned(),
            facts: facts.iter().map(|fact| text::key(fact)).collect(),
        };
        self
    }

    /// Links the action to its run, step, call or trace. Searchable, never part of identity.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.push(v1::Label {
            key: text::key(key),
            value: value.to_owned(),
        });
        self
    }

    /// How long `perform` waits through waits and held leases, instead of the client's own patience.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Claims the action and has it done, once, by whoever holds it: `execute` sends under a grant and gives a receipt,
    /// `verify` looks the postcondition up and gives an observation. Each may be called more than once, each time for
    /// another attempt or lookup; both may give a `Result`, whose error is *unknown*, never failure.
    ///
    /// Dropping the future is safe: what has not begun is given back, a send that was under way is reported as unknown.
    pub async fn perform<E, EF, V, VF>(self, execute: E, verify: V) -> Result<Outcome, Error>
    where
        E: FnMut(Grant) -> EF,
        EF: Future<Output: Into<Receipt>>,
        V: FnMut(Lookup) -> VF,
        VF: Future<Output: Into<Observation>>,
    {
        self.performance(true, true)?
            .run(Some(execute), Some(verify))
            .await
    }

    /// As [`Action::perform`] where there is nothing to look up, or where others do it: what turns out to need a lookup
    /// comes back as `Pending`.
    pub async fn perform_without_verify<E, EF>(self, execute: E) -> Result<Outcome, Error>
    where
        E: FnMut(Grant) -> EF,
        EF: Future<Output: Into<Receipt>>,
    {
        let verify = None::<fn(Lookup) -> Ready<Observation>>;
        self.performance(true, false)?.run(Some(execute), verify).await
    }

    /// Only looks up, for a reconciler: what turns out to need an execution comes back as `Pending`.
    pub async fn reconcile<V, VF>(self, verify: V) -> Result<Outcome, Error>
    where
        V: FnMut(Lookup) -> VF,
        VF: Future<Output: Into<Observation>>,
    {
        let execute = None::<fn(Grant) -> Ready<Receipt>>;
        self.performance(false, true)?.run(execute, Some(verify)).await
    }

    /// Records the action without claiming it.
    pub async fn plan(self) -> Result<Outcome, Error> {
        let performance = self.performance(false, false)?;
        performance.worker.plan(&performance.action).await
    }

    fn performance(self, execute: bool, verify: bool) -> Result<Performance, Error> {
        let said = |missing| Error::Incomplete {
            action: self.key.action_id.clone(),
            missing,
        };
        let tool = self.tool.ok_or_else(|| said("tool"))?;
        let input = self.input.ok_or_else(|| said("input"))?;
        let contract = self.contract.ok_or_else(|| said("contract"))?;
        let input_hash = input.hash(&self.identity).map_err(|source| Error::Input {
            action: self.key.action_id.clone(),
            source,
        })?;
        let specification = v1::Specification {
            tool,
            input_hash: Some(input_hash),
            expected_effect: Some(self.effect),
            contract: Some(contract.to_wire()),
            labels: self.labels,
        };
        Ok(Performance {
            worker: self.worker,
            action: Arc::new(Named {
                key: self.key,
                specification,
            }),
            begin_at_claim: !contract.leaves_doubt_to_people(),
            patience: self.patience,
            able: Able { execute, verify },
        })
    }
}
