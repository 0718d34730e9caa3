//! What one decision costs: no database, no network, no batch.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has nothing to measure"
)]

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::command::{Ask, Command, Request, Then};
use deed_core::contract::{Contract, Deduplication, EffectClass, Terms};
use deed_core::evidence::Receipt;
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId, Token};
use deed_core::judgement::{Judgement, Remembered};
use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{ActionId, Description, HashScheme, Namespace, Owner, Principal, Tool};
use deed_core::time::{Span, Timestamp};
use divan::Bencher;
use uuid::Uuid;

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

fn spec() -> Specification {
    let terms = Terms {
        deduplication: Deduplication::IdempotencyKey {
            window: Span::from_hours(24),
        },
        ..Terms::cautious(EffectClass::Irreversible)
    };
    let input = InputHash {
        scheme: HashScheme::new("jcs-sha256").unwrap(),
        digest: [7; 32],
    };
    let expected = ExpectedEffect {
        description: Description::new("the card is charged").unwrap(),
        facts: Vec::new(),
    };
    let tool = Tool::new("charge_card").unwrap();
    Specification::new(tool, input, expected, Contract::new(terms).unwrap(), Vec::new()).unwrap()
}

/// The `nth` call; its request id follows from it.
fn command(nth: u128, owner: &str, ask: Ask) -> Command {
    Command {
        key: ActionKey {
            namespace: Namespace::new("bench").unwrap(),
            action_id: ActionId::new("order-0123456789abcdef0123456789abcdef").unwrap(),
        },
        request: Request {
            id: RequestId(Uuid::from_u128(nth)),
            fingerprint: Fingerprint([1; 16]),
            caller: Caller {
                owner: Owner::new(owner).unwrap(),
                principal: Principal::new("local").unwrap(),
            },
        },
        ask,
    }
}

fn claim(nth: u128, owner: &str) -> Command {
    let spec = Box::new(spec());
    command(nth, owner, Ask::Claim { spec, begin: true })
}

fn decide(action: Option<&Action>, command: &Command) -> Judgement {
    Protocol::default().decide(action, &Remembered::default(), command, NOW)
}

/// Begun by worker 1.
fn held() -> (Action, Token) {
    let action = *decide(None, &claim(1, "worker-1")).next.unwrap();
    let token = action.token;
    (action, token)
}

#[divan::bench]
fn claim_a_fresh_action(bencher: Bencher<'_, '_>) {
    let claim = claim(1, "worker-1");
    bencher.bench(|| decide(None, &claim));
}

#[divan::bench]
fn refuse_a_claim_on_a_held_action(bencher: Bencher<'_, '_>) {
    let (action, _) = held();
    let claim = claim(2, "worker-2");
    bencher.bench(|| decide(Some(&action), &claim));
}

#[divan::bench]
fn renew_a_lease(bencher: Bencher<'_, '_>) {
    let (action, token) = held();
    let renew = command(2, "worker-1", Ask::Renew { token });
    bencher.bench(|| decide(Some(&action), &renew));
}

#[divan::bench]
fn settle_by_a_receipt(bencher: Bencher<'_, '_>) {
    let (action, token) = held();
    let receipt = Receipt::Completed {
        external_id: None,
        result: None,
    };
    let ask = Ask::Report {
        token,
        receipt,
        then: Then::Nothing,
        spec: None,
    };
    let report = command(2, "worker-1", ask);
    bencher.bench(|| decide(Some(&action), &report));
}
