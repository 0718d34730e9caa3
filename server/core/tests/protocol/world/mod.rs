//! A world without a database: rows, history and a clock that stories move. Every step is judged by the core and checked
//! against all invariants.

mod answered;
mod dice;
mod invariants;
mod row;
mod words;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use deed_core::Protocol;
use deed_core::action::{Action, State};
use deed_core::command::{Ask, Command, Decision, Request, Then};
use deed_core::contract::Terms;
use deed_core::event::{Event, What};
use deed_core::evidence::{Observation, Receipt};
use deed_core::id::{ActionKey, Fingerprint, RequestId, Token};
use deed_core::spec::Specification;
use deed_core::time::{Span, Timestamp};
use uuid::Uuid;

pub use answered::Answered;
pub use dice::Dice;
pub use invariants::Ledger;
pub use row::{Registry, Row};
pub use words::*;

/// A date in 2023, so that tokens look like those of a real database.
const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// Rows, history, external ids and the time.
pub struct World {
    pub protocol: Protocol,
    pub now: Timestamp,
    /// The action that calls are about.
    pub key: ActionKey,
    pub spec: Specification,
    pub rows: BTreeMap<ActionKey, Row>,
    pub registry: Registry,
    ledger: Ledger,
    requests: u128,
}

impl World {
    /// One action under these terms, with no declared facts.
    pub fn new(terms: Terms) -> Self {
        Self::with_facts(terms, &[])
    }

    pub fn with_facts(terms: Terms, facts: &[&str]) -> Self {
        Self::of(spec(terms, facts))
    }

    pub fn of(spec: Specification) -> Self {
        Self {
            protocol: Protocol::default(),
            now: START,
            key: key("order-1"),
            spec,
            rows: BTreeMap::new(),
            registry: Registry::new(),
            ledger: Ledger::default(),
            requests: 0,
        }
    }

    /// Moves the clock to so many seconds after the first call.
    pub fn at(&mut self, seconds: f64) -> &mut Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "stories last minutes, and no time in them is negative"
        )]
        let micros = (seconds * 1_000_000.0).round() as u64;
        let time = START.plus(Span::from_micros(micros));
        assert!(time >= self.now, "stories tell their steps in order");
        self.now = time;
        self
    }

    /// Turns to another action.
    pub fn turn_to(&mut self, key: ActionKey) -> &mut Self {
        self.key = key;
        self
    }

    /// A call that has not arrived yet.
    pub fn command(&mut self, who: &str, ask: Ask) -> Command {
        self.requests += 1;
        Command {
            key: self.key.clone(),
            request: Request {
                id: RequestId(Uuid::from_u128(self.requests)),
                fingerprint: fingerprint(&self.key, &ask),
                caller: caller(who),
            },
            ask,
        }
    }

    /// A call arrives, perhaps not for the first time.
    pub fn send(&mut self, command: &Command) -> Answered {
        let row = self.rows.entry(command.key.clone()).or_default();
        let remembered = row.remembered(command, &self.registry);
        let before = row.action.clone();
        let judgement = self
            .protocol
            .decide(before.as_ref(), &remembered, command, self.now);
        let arrival = invariants::Arrival {
            protocol: &self.protocol,
            now: self.now,
            command,
            remembered: &remembered,
            before: before.as_ref(),
            judgement: &judgement,
        };
        self.ledger.check(&arrival, &row.events);
        if let Some(next) = judgement.next {
            row.action = Some(*next);
        }
        row.events.extend(judgement.events);
        if let (Some(external_id), Some(action)) = (judgement.registers, &row.action) {
            let entry = (
                command.key.namespace.clone(),
                action.spec.tool.clone(),
                external_id,
            );
            let known = self.registry.insert(entry, command.key.clone());
            assert_eq!(known, None, "an external id is registered once");
        }
        if let Some((other, external_id)) = judgement.contests {
            let by = command.key.action_id.clone();
            let mut contest = self.command("deed", Ask::Contest { by, external_id });
            contest.key = other;
            self.send(&contest);
        }
        Answered(judgement.reply)
    }

    pub fn call(&mut self, who: &str, ask: Ask) -> Answered {
        let command = self.command(who, ask);
        self.send(&command)
    }

    pub fn claim_ask(&self, begin: bool) -> Ask {
        let spec = Box::new(self.spec.clone());
        Ask::Claim { spec, begin }
    }

    pub fn plan(&mut self, who: &str) -> Answered {
        let spec = Box::new(self.spec.clone());
        self.call(who, Ask::Plan { spec })
    }

    pub fn claim(&mut self, who: &str) -> Answered {
        let ask = self.claim_ask(false);
        self.call(who, ask)
    }

    pub fn claim_begun(&mut self, who: &str) -> Answered {
        let ask = self.claim_ask(true);
        self.call(who, ask)
    }

    /// Claims with `begin` and must get it.
    #[track_caller]
    pub fn sends(&mut self, who: &str) -> Token {
        self.claim_begun(who).executes().token
    }

    pub fn begin(&mut self, who: &str, token: Token) -> Answered {
        self.call(who, Ask::Begin { token })
    }

    pub fn report(&mut self, who: &str, token: Token, receipt: Receipt) -> Answered {
        self.report_then(who, token, receipt, Then::Nothing)
    }

    pub fn report_then(&mut self, who: &str, token: Token, receipt: Receipt, then: Then) -> Answered {
        let ask = Ask::Report {
            token,
            receipt,
            then,
            spec: None,
        };
        self.call(who, ask)
    }

    pub fn verify(&mut self, who: &str, token: Token, observation: Observation) -> Answered {
        self.verify_then(who, token, observation, Then::Nothing)
    }

    pub fn verify_then(&mut self, who: &str, token: Token, observation: Observation, then: Then) -> Answered {
        let ask = Ask::Verify {
            token,
            observation,
            then,
        };
        self.call(who, ask)
    }

    pub fn renew(&mut self, who: &str, token: Token) -> Answered {
        self.call(who, Ask::Renew { token })
    }

    pub fn release(&mut self, who: &str, token: Token) -> Answered {
        self.call(who, Ask::Release { token })
    }

    pub fn observe(&mut self, observation: Observation) -> Answered {
        self.call("witness", Ask::Observe { observation })
    }

    pub fn sweep(&mut self) -> Answered {
        self.call("sweeper", Ask::Sweep)
    }

    /// An operator decides on the version that is current.
    pub fn decide(&mut self, decision: Decision) -> Answered {
        let version = self.action().version;
        let ask = Ask::Decide {
            version,
            note: note("because"),
            decision,
        };
        self.call("operator", ask)
    }

    #[track_caller]
    pub fn action(&self) -> &Action {
        self.rows[&self.key].action.as_ref().unwrap()
    }

    pub fn state(&self) -> State {
        self.action().state
    }

    pub fn events(&self) -> &[Event] {
        self.rows.get(&self.key).map_or(&[], |row| &row.events)
    }

    /// Whether anything is marked for people.
    pub fn flags_set(&self) -> bool {
        self.action().flags.set().next().is_some()
    }

    /// How many pieces of evidence the history holds.
    pub fn evidence(&self) -> usize {
        let evidence = |event: &&Event| matches!(event.what, What::Reported { .. } | What::Observed { .. });
        self.events().iter().filter(evidence).count()
    }
}

/// Stands for the digest of everything that a call says.
pub fn fingerprint(key: &ActionKey, ask: &Ask) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    match ask {
        Ask::Plan { spec } => hash_spec(spec, &mut hasher),
        Ask::Claim { spec, begin } => {
            begin.hash(&mut hasher);
            hash_spec(spec, &mut hasher);
        }
        other => format!("{other:?}").hash(&mut hasher),
    }
    let half = hasher.finish().to_be_bytes();
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&half);
    digest[8..].copy_from_slice(&half);
    Fingerprint(digest)
}

fn hash_spec(spec: &Specification, hasher: &mut DefaultHasher) {
    (
        &spec.tool,
        &spec.input,
        &spec.expected,
        &spec.contract,
        &spec.labels,
    )
        .hash(hasher);
}
