//! What the way from a call to its committed reply costs where the database costs nothing: the committer over rows in
//! memory. One item is an action: claim with begin, then report completed.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has nothing to measure"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::command::{Ask, Command, Request, Then};
use deed_core::contract::{Contract, EffectClass, Terms};
use deed_core::evidence::Receipt;
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId};
use deed_core::judgement::Remembered;
use deed_core::reply::{NextStep, Reply};
use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{ActionId, Description, HashScheme, Namespace, Owner, Principal, Tool};
use deed_core::time::{Span, Timestamp};
use deed_server::committer::{Committer, Options};
use deed_server::service::{Call, Judge};
use deed_server::store::{Busy, Connect, Error, Lookup, Reading, Row, Transact, Write};
use divan::Bencher;
use divan::counter::ItemsCount;
use futures::future::join_all;
use uuid::Uuid;

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// Rows without history: nothing here is ever repeated, and every key is written by one caller.
#[derive(Clone, Default)]
struct Memory {
    rows: Arc<Mutex<HashMap<ActionKey, Action>>>,
}

impl Connect for Memory {
    type Transact = Self;

    fn connect(&self) -> Self {
        self.clone()
    }
}

impl Transact for Memory {
    async fn read(&mut self, lookups: &[Lookup], _busy: Busy) -> Result<Reading, Error> {
        let rows = self.rows.lock().unwrap();
        let row = |lookup: &Lookup| match rows.get(&lookup.key) {
            Some(action) => Row::Found(Box::new(action.clone()), Remembered::default()),
            None => Row::Absent(Remembered::default()),
        };
        Ok(Reading {
            now: NOW,
            waited: Span::ZERO,
            rows: lookups.iter().map(row).collect(),
        })
    }

    async fn write(&mut self, writes: &[Write<'_>], _synchronous: bool) -> Result<Vec<bool>, Error> {
        let mut rows = self.rows.lock().unwrap();
        for write in writes {
            rows.insert(write.next.key.clone(), write.next.clone());
        }
        Ok(vec![true; writes.len()])
    }
}

fn spec() -> Specification {
    let input = InputHash {
        scheme: HashScheme::new("jcs-sha256").unwrap(),
        digest: [7; 32],
    };
    let expected = ExpectedEffect {
        description: Description::new("the card is charged").unwrap(),
        facts: Vec::new(),
    };
    let contract = Contract::new(Terms::cautious(EffectClass::Reversible)).unwrap();
    Specification::new(
        Tool::new("charge_card").unwrap(),
        input,
        expected,
        contract,
        Vec::new(),
    )
    .unwrap()
}

fn call(key: &ActionKey, ask: Ask) -> Call {
    let arrived = Instant::now();
    let caller = Caller {
        owner: Owner::new("worker-1").unwrap(),
        principal: Principal::new("local").unwrap(),
    };
    Call {
        command: Command {
            key: key.clone(),
            request: Request {
                id: RequestId(Uuid::new_v4()),
                fingerprint: Fingerprint([1; 16]),
                caller,
            },
            ask,
        },
        arrived,
        deadline: arrived + Duration::from_secs(30),
    }
}

/// One action from claim to receipt.
async fn act(committer: &Committer, spec: &Specification) {
    let key = ActionKey {
        namespace: Namespace::new("bench").unwrap(),
        action_id: ActionId::new(Uuid::new_v4().to_string()).unwrap(),
    };
    let spec = Box::new(spec.clone());
    let claimed = committer
        .judge(call(&key, Ask::Claim { spec, begin: true }))
        .await;
    let token = match claimed.unwrap().reply {
        Reply::Step(answer) => match answer.step {
            NextStep::Execute(execute) => execute.token,
            other => panic!("not granted: {other:?}"),
        },
        Reply::Renewed { .. } => panic!("renewed"),
    };
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
    committer.judge(call(&key, ask)).await.unwrap();
}

#[divan::bench(args = [1, 16, 64, 256, 1_024])]
fn actions_by_callers(bencher: Bencher<'_, '_>, callers: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let memory = Memory::default();
    let committer = {
        let _entered = runtime.enter();
        Committer::start(Arc::new(memory.clone()), Protocol::default(), Options::default())
    };
    let spec = spec();
    bencher.counter(ItemsCount::new(callers)).bench_local(|| {
        runtime.block_on(join_all((0..callers).map(|_| act(&committer, &spec))));
        memory.rows.lock().unwrap().clear();
    });
    runtime.block_on(committer.stop());
}
