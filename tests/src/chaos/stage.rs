//! The whole experiment, from the first process to the last: start, storm, calm, and what is left.
//!
//! Owns whatever runs, so that it is ended after success, failure or Ctrl-C alike.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::timeout;

use super::database::{Database, free_port};
use super::diagnosis;
use super::fleet::{CLOCK_STEP, Conduct};
use super::history;
use super::log::{Line, now_ms, read};
use super::nemesis::{Clock, Done, strike_database, strike_network, strike_processes};
use super::network::Network;
use super::plan::{CALM, HEAD_START, PERIOD, SERVERS, WORKERS, Wishes};
use super::post::{Description, Fallen, Post};
use super::record::Record;
use super::worker::{OVER, Orders};
use crate::support::outside::Receiver;
use crate::support::process::{DEED_READY_LINE, Programs};

/// A busy machine starts three servers within this.
const SERVERS_READY: Duration = Duration::from_secs(60);

/// After the last worker has ended, what a killed one sent may still be on its way: receivers are late by less than this,
/// and leases lapse.
const SETTLE: Duration = Duration::from_millis(1_500);

/// What the experiment runs on.
pub struct Stage {
    directory: PathBuf,
    programs: Programs,
    wishes: Wishes,
    database: Option<Database>,
    receivers: Vec<Receiver>,
    servers: Vec<Post>,
    workers: Vec<Post>,
    network: Option<Network>,
    fallen: Fallen,
}

impl Stage {
    /// `directory` is there and empty.
    pub fn new(directory: &Path, programs: Programs, wishes: Wishes) -> Self {
        Self {
            directory: directory.to_owned(),
            programs,
            wishes,
            database: None,
            receivers: Vec::new(),
            servers: Vec::new(),
            workers: Vec::new(),
            network: None,
            fallen: Fallen::default(),
        }
    }

    /// Everything. Call [`Stage::end`] after it, also where it failed or was cancelled.
    pub async fn run(&mut self) -> anyhow::Result<Record> {
        let addresses = self.start().await?;
        let start_ms = now_ms() + i64::try_from(HEAD_START.as_millis())?;
        self.hire(start_ms)?;
        println!("{SERVERS} servers and {WORKERS} workers are at work; the storm begins");
        let done = self.storm().await?;
        println!("the storm is over; what is open has time to be decided");
        self.calm(start_ms).await?;
        let mut ledgers = Vec::new();
        for receiver in &self.receivers {
            ledgers.push(
                receiver
                    .client()?
                    .ledger()
                    .await
                    .context("a receiver does not show its ledger")?,
            );
        }
        let server = addresses.first().context("there is no server")?;
        Ok(Record {
            effects: history::effects(ledgers),
            logs: self.logs()?,
            history: history::history(&self.database()?.url()?).await?,
            actions: history::actions(format!("http://{server}")).await?,
            diary: done.diary(),
            fallen: self.fallen.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }

    /// Ends what runs.
    pub async fn end(&mut self) -> anyhow::Result<()> {
        // Whoever is no longer needed is killed by being dropped; servers may answer what is open.
        self.workers.clear();
        let servers = futures::future::join_all(self.servers.drain(..).map(Post::stop)).await;
        for receiver in self.receivers.drain(..) {
            receiver.stop().await?;
        }
        if let Some(database) = self.database.take() {
            database.stop().await?;
        }
        self.network = None;
        servers.into_iter().collect()
    }

    /// Database, receivers, network and servers; the servers' own addresses.
    async fn start(&mut self) -> anyhow::Result<Vec<SocketAddr>> {
        let database = self.database.insert(Database::new(&self.directory).await?);
        database.start().await.context("cannot start the database")?;
        for conduct in Conduct::ALL {
            let log = self.directory.join("receiver.log");
            let dials = conduct.dials(self.wishes.seed);
            let receiver = Receiver::start(&self.programs.receiver, &log, &dials).await;
            self.receivers.push(receiver.context("cannot start a receiver")?);
        }
        let receivers: Vec<SocketAddr> = self.receivers.iter().map(|receiver| receiver.address).collect();
        let mut servers = Vec::new();
        for _ in 0..SERVERS {
            servers.push(SocketAddr::from(([127, 0, 0, 1], free_port()?)));
        }
        let network = Network::start(WORKERS, &servers, &receivers, &database.addresses()).await?;
        for (number, address) in servers.iter().enumerate() {
            let url = database.url_through(&network.to_database[number])?;
            let name = format!("server-{}", number + 1);
            let arguments = ["serve", "--listen", &address.to_string(), "--max-clock-step"].map(Into::into);
            let step = format!("{}ms", CLOCK_STEP.as_millis()).into();
            let description = Description {
                program: self.programs.deed_server.clone().with("DEED_DATABASE_URL", &url),
                arguments: arguments.into_iter().chain([step]).collect(),
                log: self.directory.join(format!("{name}.log")),
                ready: Some(DEED_READY_LINE),
                name,
            };
            self.servers.push(Post::start(description, self.fallen.clone()));
        }
        self.network = Some(network);
        let ready = async {
            for server in &mut self.servers {
                server.ready().await?;
            }
            anyhow::Ok(())
        };
        timeout(SERVERS_READY, ready)
            .await
            .context("the servers do not get ready; see server-*.log")??;
        Ok(servers)
    }

    /// Starts the workers.
    fn hire(&mut self, start_ms: i64) -> anyhow::Result<()> {
        for number in 0..WORKERS {
            let orders = self.orders(number, start_ms)?;
            let name = format!("worker-{}", number + 1);
            let description = Description {
                program: self.programs.worker.clone(),
                arguments: vec![
                    "chaos".into(),
                    "--orders".into(),
                    serde_json::to_string(&orders)?.into(),
                ],
                log: self.directory.join(format!("{name}.log")),
                ready: None,
                name,
            };
            self.workers.push(Post::start(description, self.fallen.clone()));
        }
        Ok(())
    }

    fn orders(&self, number: usize, start_ms: i64) -> anyhow::Result<Orders> {
        let network = self.network.as_ref().context("there is no network")?;
        let receivers = Conduct::ALL.into_iter().zip(&network.to_receivers[number]);
        Ok(Orders {
            seed: self.wishes.seed,
            number,
            start_ms,
            server: network.to_servers[number].url(),
            receivers: receivers
                .map(|(conduct, proxy)| (conduct, proxy.address))
                .collect::<BTreeMap<_, _>>(),
            directory: self.directory.clone(),
        })
    }

    fn database(&self) -> anyhow::Result<&Database> {
        self.database.as_ref().context("the database is gone")
    }

    fn logs(&self) -> anyhow::Result<Vec<Vec<Line>>> {
        let path = |number: usize| self.directory.join(format!("worker-{}.jsonl", number + 1));
        (0..WORKERS).map(|number| read(&path(number))).collect()
    }

    async fn storm(&mut self) -> anyhow::Result<Done> {
        let (network, database) = (self.network.as_ref(), self.database.as_mut());
        let (network, database) = (
            network.context("there is no network")?,
            database.context("there is no database")?,
        );
        let done = Done::default();
        let clock = Clock::start(self.wishes);
        let links = network.links();
        let ((), (), struck) = tokio::join!(
            strike_processes(clock, &self.workers, &self.servers, &done),
            strike_network(clock, &links, &done),
            strike_database(clock, database, &done),
        );
        struck.context("the nemesis could not strike the database")?;
        Ok(done)
    }

    /// Nothing new, and time for what is open.
    async fn calm(&mut self, start_ms: i64) -> anyhow::Result<()> {
        let actions = (now_ms() - start_ms) / i64::try_from(PERIOD.as_millis())? + 1;
        // SUBTLE: renamed into place; a worker must not read half a number.
        let over = self.directory.join(OVER);
        let half = over.with_extension("new");
        fs::write(&half, actions.to_string())?;
        fs::rename(&half, &over)?;
        let all = async {
            for worker in self.workers.drain(..) {
                worker.ended().await?;
            }
            anyhow::Ok(())
        };
        match timeout(CALM, all).await {
            Ok(ended) => ended?,
            Err(_elapsed) => {
                let mut what = diagnosis::open(&self.logs()?);
                what.extend(diagnosis::database(&self.database()?.url()?).await?);
                bail!(
                    "workers are still at work {} s after the storm:\n{}",
                    CALM.as_secs(),
                    what.join("\n")
                );
            }
        }
        tokio::time::sleep(SETTLE).await;
        Ok(())
    }
}
