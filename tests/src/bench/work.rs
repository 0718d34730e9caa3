//! The work that all columns do: the same namespace, tool, input and contract, and random ids that nobody has used.

use std::time::Duration;

use deed_client::Contract;
use deed_core::command::Request;
use deed_core::contract::{Deduplication, EffectClass, Terms};
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId};
use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{ActionId, Description, HashScheme, Namespace, Owner, Principal, Tool};
use deed_core::time::Span;
use deed_proto::v1;
use uuid::Uuid;

pub const NAMESPACE: &str = "bench";
pub const TOOL: &str = "charge_card";
pub const DIGEST: [u8; 32] = [7; 32];
const SCHEME: &str = "jcs-sha256";

/// What a large payment provider promises for its idempotency keys.
const WINDOW: Duration = Duration::from_secs(24 * 3_600);

/// So long that no lease of a load ends by itself.
pub const LEASE: Duration = Duration::from_secs(300);

/// The name of a worker.
pub fn owner(number: usize) -> String {
    format!("worker-{number}")
}

/// Random, so that neighbours in time are no neighbours in an index.
pub fn fresh_id() -> String {
    format!("order-{}", Uuid::new_v4().simple())
}

/// The action on the wire.
pub fn key(id: &str) -> v1::ActionKey {
    v1::ActionKey {
        namespace: NAMESPACE.to_owned(),
        action_id: id.to_owned(),
    }
}

/// What it is, on the wire.
pub fn specification() -> v1::Specification {
    v1::Specification {
        tool: TOOL.to_owned(),
        input_hash: Some(v1::InputHash {
            scheme: SCHEME.to_owned(),
            digest: DIGEST.to_vec(),
        }),
        expected_effect: None,
        contract: Some(contract().to_wire()),
        labels: Vec::new(),
    }
}

/// The terms, for the client library.
pub fn contract() -> Contract {
    Contract::idempotency_key(WINDOW).lease(LEASE)
}

/// The action in the core's words.
pub fn core_key(id: &str) -> anyhow::Result<ActionKey> {
    Ok(ActionKey {
        namespace: Namespace::new(NAMESPACE)?,
        action_id: ActionId::new(id)?,
    })
}

/// What it is, in the core's words: the same as [`specification`].
pub fn core_specification() -> anyhow::Result<Specification> {
    let terms = Terms {
        deduplication: Deduplication::IdempotencyKey {
            window: Span::from_secs(WINDOW.as_secs()),
        },
        lease: Span::from_secs(LEASE.as_secs()),
        send_timeout: Span::from_secs(LEASE.as_secs()),
        ..Terms::cautious(EffectClass::Irreversible)
    };
    let input = InputHash {
        scheme: HashScheme::new(SCHEME)?,
        digest: DIGEST,
    };
    let expected = ExpectedEffect {
        description: Description::new("")?,
        facts: Vec::new(),
    };
    let contract = deed_core::contract::Contract::new(terms)?;
    Ok(Specification::new(
        Tool::new(TOOL)?,
        input,
        expected,
        contract,
        Vec::new(),
    )?)
}

/// Who asks, in the core's words.
pub fn core_request(owner: &str) -> anyhow::Result<Request> {
    Ok(Request {
        id: RequestId(Uuid::new_v4()),
        fingerprint: Fingerprint([9; 16]),
        caller: Caller {
            owner: Owner::new(owner)?,
            principal: Principal::new("local")?,
        },
    })
}
