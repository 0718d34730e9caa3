//! A database whose clock can be put forward, a faulty store on it, and two committers: one tells of every failure at
//! once, the other mends what it can.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deed_core::Protocol;
use deed_core::action::Action;
use deed_core::command::Command;
use deed_core::event::Event;
use deed_core::id::ActionKey;
use deed_core::time::Span;
use deed_server::committer::{Committer, Options};
use deed_server::service::ledger::Ledger;
use deed_server::service::{Call, Judge};
use deed_server::store::{Connector, Reader};
use tokio_postgres::Client;

use super::answer::Heard;
use super::dials::Dials;
use super::session::Faulty;
use crate::fixture::Fixture;

/// Deed's time is `clock_timestamp()`, named without a schema: this one runs like the real one, and is ahead of it.
const CLOCK: &str = "
    CREATE SCHEMA ahead;
    CREATE TABLE ahead.clock (ahead interval NOT NULL);
    INSERT INTO ahead.clock VALUES ('0');
    CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
        AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM ahead.clock';
";

/// Longer than any call takes here.
const DEADLINE: Duration = Duration::from_secs(30);

/// More events than any action here has.
const ALL: u32 = 10_000;

pub struct Stage {
    pub dials: Arc<Dials>,
    store: Arc<Faulty<Connector>>,
    committers: [Committer; 2],
    reader: Reader,
    psql: Client,
    _fixture: Fixture,
}

impl Stage {
    /// A call that got no answer so often never gets one.
    pub const TRIES: usize = 200;

    pub const IMPATIENT: usize = 0;
    pub const PATIENT: usize = 1;
    pub const COMMITTERS: [usize; 2] = [Self::IMPATIENT, Self::PATIENT];

    /// `batch` is the most calls that share a transaction, and its fate.
    pub async fn set(dials: Dials, batch: usize) -> Self {
        let fixture = Fixture::migrated().await;
        let psql = fixture.psql().await;
        psql.batch_execute(CLOCK).await.unwrap();
        let name: String = psql
            .query_one("SELECT current_database()", &[])
            .await
            .unwrap()
            .get(0);
        let search = format!("ALTER DATABASE {name} SET search_path = public, ahead, pg_catalog");
        psql.batch_execute(&search).await.unwrap();

        let dials = Arc::new(dials);
        let real = Arc::new(Connector::new(fixture.database.clone()));
        let store = Arc::new(Faulty::new(real, Arc::clone(&dials)));
        // Absence counts at once, so that the shortest histories have everything.
        let protocol = Protocol {
            max_clock_step: Span::ZERO,
        };
        let committer = |patience| {
            let options = Options {
                batch,
                patience,
                ..Options::default()
            };
            Committer::start(Arc::clone(&store), protocol, options)
        };
        let committers = [Duration::ZERO, Options::default().patience].map(committer);
        Self {
            dials,
            store,
            committers,
            reader: Reader::new(fixture.database.clone()),
            psql,
            _fixture: fixture,
        }
    }

    pub async fn ask(&self, committer: usize, command: &Command) -> Heard {
        let arrived = Instant::now();
        let call = Call {
            command: command.clone(),
            arrived,
            deadline: arrived + DEADLINE,
        };
        Heard::of(self.committers[committer].judge(call).await)
    }

    /// As a caller does: the same request again until there is an answer.
    pub async fn ask_until_heard(&self, committer: usize, command: &Command) -> Heard {
        for _ in 0..Self::TRIES {
            match self.ask(committer, command).await {
                Heard::Nothing => {}
                heard @ (Heard::Told(_) | Heard::Refused(_)) => return heard,
            }
        }
        panic!("never heard: {command:#?}");
    }

    /// Lets the database's time pass.
    pub async fn pass(&self, time: Span) {
        let micros = i64::try_from(time.micros()).unwrap();
        let pass = "UPDATE ahead.clock SET ahead = ahead + $1::bigint * interval '1 microsecond'";
        self.psql.execute(pass, &[&micros]).await.unwrap();
    }

    /// No faults any more, and what was late has come.
    pub async fn calm(&self) {
        self.dials.calm();
        self.store.settled().await;
    }

    pub async fn row_and_history(&self, key: &ActionKey) -> Option<(Action, Vec<Event>)> {
        let (action, _) = self.reader.action(key).await.unwrap()?;
        Some((action, self.reader.events(key, 0, ALL).await.unwrap()))
    }

    pub async fn stop(self) {
        for committer in &self.committers {
            committer.stop().await;
        }
    }
}
