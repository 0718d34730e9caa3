//! Calls as a worker makes them, and a committer to make them to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deed_core::Protocol;
use deed_core::command::{Ask, Command, Request, Then};
use deed_core::contract::{Contract, EffectClass, Terms};
use deed_core::evidence::Receipt;
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId, Token};
use deed_core::reply::{Execute, NextStep, Reply};
use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{ActionId, Description, ExternalId, HashScheme, Namespace, Owner, Principal, Tool};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::super::{Committer, Options};
use super::fake::Fake;
use crate::service::{Call, Error, Judge, Judged};

/// Longer than any test takes.
pub const LONG: Duration = Duration::from_secs(30);

/// Short, so that a test of giving up is short.
pub const PATIENCE: Duration = Duration::from_millis(250);

pub fn committer(fake: &Fake, change: impl FnOnce(&mut Options)) -> Arc<Committer> {
    let mut options = Options {
        lanes: 1,
        patience: PATIENCE,
        ..Options::default()
    };
    change(&mut options);
    Arc::new(Committer::start(
        Arc::new(fake.clone()),
        Protocol::default(),
        options,
    ))
}

pub fn key(action_id: &str) -> ActionKey {
    ActionKey {
        namespace: Namespace::new("shop").unwrap(),
        action_id: ActionId::new(action_id).unwrap(),
    }
}

pub fn spec() -> Box<Specification> {
    let expected = ExpectedEffect {
        description: Description::new("the card is charged").unwrap(),
        facts: Vec::new(),
    };
    let input = InputHash {
        scheme: HashScheme::new("raw-sha256").unwrap(),
        digest: [7; 32],
    };
    let contract = Contract::new(Terms::cautious(EffectClass::Reversible)).unwrap();
    let tool = Tool::new("charge_card").unwrap();
    Box::new(Specification::new(tool, input, expected, contract, Vec::new()).unwrap())
}

pub fn call(action_id: &str, ask: Ask) -> Call {
    let arrived = Instant::now();
    Call {
        command: Command {
            key: key(action_id),
            request: Request {
                id: RequestId(Uuid::new_v4()),
                fingerprint: Fingerprint([1; 16]),
                caller: Caller {
                    owner: Owner::new("w1").unwrap(),
                    principal: Principal::new("local").unwrap(),
                },
            },
            ask,
        },
        arrived,
        deadline: arrived + LONG,
    }
}

pub fn claim(action_id: &str) -> Call {
    let ask = Ask::Claim {
        spec: spec(),
        begin: true,
    };
    call(action_id, ask)
}

pub fn report(action_id: &str, token: Token, external_id: &str) -> Call {
    let receipt = Receipt::Completed {
        external_id: Some(ExternalId::new(external_id).unwrap()),
        result: None,
    };
    let ask = Ask::Report {
        token,
        receipt,
        then: Then::Nothing,
        spec: None,
    };
    call(action_id, ask)
}

/// The same call once more, as a caller repeats it.
pub fn repeat(call: &Call) -> Call {
    Call {
        command: call.command.clone(),
        ..*call
    }
}

/// Makes the call in a task of its own.
pub fn send(committer: &Arc<Committer>, call: Call) -> JoinHandle<Result<Judged, Error>> {
    let committer = Arc::clone(committer);
    tokio::spawn(async move { committer.judge(call).await })
}

pub fn step(judged: Result<Judged, Error>) -> NextStep {
    match judged.unwrap().reply {
        Reply::Step(answer) => answer.step,
        Reply::Renewed { .. } => panic!("renewed"),
    }
}

pub fn execute(judged: Result<Judged, Error>) -> Execute {
    match step(judged) {
        NextStep::Execute(execute) => execute,
        other => panic!("expected Execute, got {other:?}"),
    }
}
