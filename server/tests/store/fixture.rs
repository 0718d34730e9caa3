//! A migrated database for each test, and short ways to claim, report and look. It judges with the real core.

use std::env;

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::command::{Ask, Command, Decision, Request, Resolution, Then};
use deed_core::contract::{Contract, EffectClass, Terms, Verification};
use deed_core::evidence::Receipt;
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId, Token};
use deed_core::judgement::{Judgement, Remembered};
use deed_core::spec::{ExpectedEffect, InputHash, Label, Specification};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, LabelKey, LabelValue, Namespace, Owner,
    Principal, Tool,
};
use deed_core::time::{Span, Timestamp};
use deed_server::postgres::{Cluster, Options};
use deed_server::store::{
    self, Busy, Connect, Connector, Database, Error, Lookup, Reading, Row, Session, Transact, Write,
};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// Address of a Postgres that is shared by a whole run; without it every test starts one.
const SHARED: &str = "DEED_TEST_POSTGRES";

pub struct Fixture {
    pub url: String,
    pub database: Database,
    _own: Option<Cluster>,
}

impl Fixture {
    /// A database with this server's schema.
    pub async fn migrated() -> Self {
        let fixture = Self::empty().await;
        store::migrate(&fixture.database).await.unwrap();
        fixture
    }

    pub async fn empty() -> Self {
        match env::var(SHARED) {
            Ok(admin) if !admin.is_empty() => {
                let name = format!("store_{}", Uuid::new_v4().simple());
                let create = format!("CREATE DATABASE {name}");
                connect(&admin).await.batch_execute(&create).await.unwrap();
                Self::at(beside(&admin, &name), None)
            }
            Ok(_) | Err(_) => Self::alone().await,
        }
    }

    /// On a Postgres that nobody else uses: for what the neighbours' snapshots would blur.
    pub async fn alone() -> Self {
        let cluster = Cluster::start(Options::ephemeral()).await.unwrap();
        cluster.create_database("deed").await.unwrap();
        Self::at(cluster.url("deed"), Some(cluster))
    }

    fn at(url: String, own: Option<Cluster>) -> Self {
        let database = Database::parse(&url).unwrap();
        Self {
            url,
            database,
            _own: own,
        }
    }

    pub fn session(&self) -> Session {
        Connector::new(self.database.clone()).connect()
    }

    /// A session beside the store's, for what a hand or another program does.
    pub async fn psql(&self) -> Client {
        connect(&self.url).await
    }
}

/// Another database of the same server.
fn beside(admin: &str, name: &str) -> String {
    let server = admin.rsplit_once('/').unwrap().0;
    format!("{server}/{name}")
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub fn key(action_id: &str) -> ActionKey {
    ActionKey {
        namespace: Namespace::new("tests").unwrap(),
        action_id: ActionId::new(action_id).unwrap(),
    }
}

pub fn caller(owner: &str) -> Caller {
    Caller {
        owner: Owner::new(owner).unwrap(),
        principal: Principal::new("loopback").unwrap(),
    }
}

pub fn external(id: &str) -> ExternalId {
    ExternalId::new(id).unwrap()
}

pub fn specification() -> Specification {
    let terms = Terms {
        verification: Verification::Postcondition {
            settle_window: Span::ZERO,
            effect_deadline: Span::from_hours(1),
        },
        ..Terms::cautious(EffectClass::Reversible)
    };
    Specification::new(
        Tool::new("create_invoice").unwrap(),
        InputHash {
            scheme: HashScheme::new("jcs-sha256").unwrap(),
            digest: [7; 32],
        },
        ExpectedEffect {
            description: Description::new("the invoice exists\n\"once\"").unwrap(),
            facts: vec![
                FactName::new("row_exists").unwrap(),
                FactName::new("mail_published").unwrap(),
            ],
        },
        Contract::new(terms).unwrap(),
        vec![Label {
            key: LabelKey::new("run").unwrap(),
            value: LabelValue::new("'; DROP TABLE actions; \u{200f}").unwrap(),
        }],
    )
    .unwrap()
}

pub fn command(action_id: &str, owner: &str, ask: Ask) -> Command {
    Command {
        key: key(action_id),
        request: Request {
            id: RequestId(Uuid::new_v4()),
            fingerprint: Fingerprint([3; 16]),
            caller: caller(owner),
        },
        ask,
    }
}

pub fn claim(action_id: &str, owner: &str) -> Command {
    let spec = Box::new(specification());
    command(action_id, owner, Ask::Claim { spec, begin: true })
}

pub fn report(action_id: &str, owner: &str, token: Token, receipt: Receipt) -> Command {
    command(
        action_id,
        owner,
        Ask::Report {
            token,
            receipt,
            then: Then::Nothing,
            spec: None,
        },
    )
}

pub fn completed(external_id: &str, result: &[u8]) -> Receipt {
    Receipt::Completed {
        external_id: Some(external(external_id)),
        result: Some(result.to_vec()),
    }
}

/// What the committer looks up for a command.
pub fn lookup(command: &Command) -> Lookup {
    let (token, external_id, tool) = match &command.ask {
        Ask::Plan { spec } | Ask::Claim { spec, .. } => (None, None, Some(spec.tool.clone())),
        Ask::Report {
            token, receipt, spec, ..
        } => (
            Some(*token),
            receipt.external_id().cloned(),
            spec.as_ref().map(|spec| spec.tool.clone()),
        ),
        Ask::Verify {
            token, observation, ..
        } => (Some(*token), observation.external_id().cloned(), None),
        Ask::Begin { token } | Ask::Renew { token } | Ask::Release { token } => (Some(*token), None, None),
        Ask::Observe { observation } => (None, observation.external_id().cloned(), None),
        Ask::Decide {
            decision:
                Decision::Resolve {
                    resolution: Resolution::Confirmed { external_id },
                    ..
                },
            ..
        } => (None, external_id.clone(), None),
        Ask::Sweep | Ask::Contest { .. } | Ask::Decide { .. } => (None, None, None),
    };
    Lookup {
        key: command.key.clone(),
        request: command.request.id,
        token,
        external_id,
        tool,
    }
}

pub fn judge(command: &Command, row: &Row, now: Timestamp) -> Judgement {
    let (action, remembered) = match row {
        Row::Found(action, remembered) => (Some(&**action), remembered),
        Row::Absent(remembered) => (None, remembered),
        Row::Busy => panic!("{:?} is busy", command.key),
    };
    Protocol::default().decide(action, remembered, command, now)
}

pub fn version(row: &Row) -> Option<deed_core::id::Version> {
    match row {
        Row::Found(action, _) => Some(action.version),
        Row::Absent(_) | Row::Busy => None,
    }
}

pub fn write<'a>(row: &Row, judgement: &'a Judgement) -> Write<'a> {
    Write {
        previous: version(row),
        next: judgement.next.as_ref().unwrap(),
        events: &judgement.events,
        registers: judgement.registers.as_ref(),
    }
}

/// Reads, judges and writes one command.
pub async fn carry(session: &mut Session, command: &Command) -> Result<(Judgement, Vec<bool>), Error> {
    let reading = session.read(&[lookup(command)], Busy::Skip).await?;
    let judgement = judge(command, &reading.rows[0], reading.now);
    let writes: Vec<_> = judgement
        .next
        .iter()
        .map(|_| write(&reading.rows[0], &judgement))
        .collect();
    let written = session.write(&writes, judgement.reads_back).await?;
    Ok((judgement, written))
}

/// As [`carry`], where nothing may go wrong; the action after it.
pub async fn done(session: &mut Session, command: &Command) -> Action {
    let (judgement, written) = carry(session, command).await.unwrap();
    assert_eq!(written, [true], "{:?}", judgement.reply);
    *judgement.next.unwrap()
}

/// Reads one action and ends the transaction.
pub async fn look(session: &mut Session, action_id: &str) -> (Option<Action>, Remembered) {
    let sweep = command(action_id, "reader", Ask::Sweep);
    let reading = session.read(&[lookup(&sweep)], Busy::Skip).await.unwrap();
    session.write(&[], false).await.unwrap();
    one(reading)
}

pub fn one(reading: Reading) -> (Option<Action>, Remembered) {
    match reading.rows.into_iter().next().unwrap() {
        Row::Found(action, remembered) => (Some(*action), remembered),
        Row::Absent(remembered) => (None, remembered),
        Row::Busy => panic!("busy"),
    }
}
