//! Answers that a script can give, and the actions that the tests ask for.

use std::collections::HashMap;
use std::time::Duration;

use deed_client::{Action, Contract, Deed, State, WaitReason, hours, seconds, v1};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use v1::next_step::Kind;
use v1::renew_result::Renewed;
use v1::renew_result::Result as Renewal;

/// Long enough that no test sees it end, short enough for one renewal a second.
pub const LEASE: Duration = Duration::from_secs(3);

pub fn wire(length: Duration) -> Option<prost_types::Duration> {
    Some(length.try_into().unwrap())
}

pub fn answer(kind: Kind) -> v1::Answer {
    v1::Answer {
        safe_to_retry: matches!(kind, Kind::Execute(_)),
        next_step: Some(v1::NextStep { kind: Some(kind) }),
        ..v1::Answer::default()
    }
}

/// A grant of `LEASE` that has passed the gate.
pub fn granted(token: u64) -> v1::Execute {
    v1::Execute {
        fencing_token: token,
        attempt: 1,
        lease_left: wire(LEASE),
        send_timeout: wire(seconds(30)),
        outward_key: "k".repeat(32),
        guarantee: v1::Guarantee::Deduplicated.into(),
        begun: true,
        ..v1::Execute::default()
    }
}

pub fn execute(token: u64) -> Kind {
    Kind::Execute(granted(token))
}

/// A grant of `LEASE` that has not passed the gate.
pub fn unbegun(token: u64) -> Kind {
    Kind::Execute(v1::Execute {
        begun: false,
        ..granted(token)
    })
}

/// A grant that lasts for so long.
pub fn lasting(token: u64, lease: Duration) -> Kind {
    Kind::Execute(v1::Execute {
        lease_left: wire(lease),
        ..granted(token)
    })
}

pub fn verify(token: u64) -> Kind {
    Kind::VerifyEffect(v1::VerifyEffect {
        fencing_token: token,
        lease_left: wire(LEASE),
        outward_key: "k".repeat(32),
        external_id: "J1".to_owned(),
        attempts: 1,
        facts: vec!["row_exists".to_owned()],
        ..v1::VerifyEffect::default()
    })
}

pub fn settled(external_id: &str) -> Kind {
    Kind::Settled(v1::Settled {
        state: State::Confirmed.into(),
        outcome: v1::Outcome::EffectProven.into(),
        external_id: external_id.to_owned(),
        result: Some(b"receipt".to_vec()),
        ..v1::Settled::default()
    })
}

pub fn wait(retry_after: Duration) -> Kind {
    Kind::Wait(v1::Wait {
        retry_after: wire(retry_after),
        reason: WaitReason::Backoff.into(),
        due_at: None,
    })
}

pub fn held(retry_after: Duration) -> Kind {
    Kind::Held(v1::Held {
        owner: "worker-2".to_owned(),
        lease_left: wire(seconds(9)),
        retry_after: wire(retry_after),
    })
}

pub fn blocked() -> Kind {
    Kind::Blocked(v1::Blocked {
        reason: v1::BlockedReason::Unverifiable.into(),
        detail: "ask".to_owned(),
    })
}

pub fn claimable(kind: v1::GrantKind) -> Kind {
    Kind::Claimable(v1::Claimable { kind: kind.into() })
}

pub fn renewed(lease: Duration) -> Renewal {
    Renewal::Renewed(Renewed {
        lease_left: wire(lease),
        ..Renewed::default()
    })
}

/// An error of the service itself.
pub fn refusal(code: Code, reason: &str) -> Status {
    let details = ErrorDetails::with_error_info(reason, "deed", HashMap::new());
    Status::with_error_details(code, "x", details)
}

/// An action whose receiver deduplicates.
pub fn charge(deed: &Deed, id: &str) -> Action {
    let action = deed.action(id).tool("charge_card").input_bytes(b"30 EUR");
    action.contract(Contract::idempotency_key(hours(24)))
}

/// An action that is begun right before its send.
pub fn mail(deed: &Deed, id: &str) -> Action {
    let action = deed.action(id).tool("send_mail").input_bytes(b"hello");
    action.contract(Contract::at_most_once())
}
