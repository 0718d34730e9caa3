//! What all cells share: one Deed server on a private Postgres, and the clients of its workers. Each cell has a receiver
//! of its own.

use deed_client::Deed;

use crate::support::server::{Options, Server};
use crate::support::{Database, database};

/// As many as the most concurrent workers on one task; every worker of an episode has another.
pub const CLIENTS: usize = 32;

/// The database's clock is the machine's, and nobody steps it while the experiment runs.
const MAX_CLOCK_STEP: [&str; 2] = ["--max-clock-step", "10ms"];

/// Everything that is started once.
#[derive(Debug)]
pub struct Stage {
    clients: Vec<Deed>,
    server: Server,
    // Dropped last: the server stands on it.
    _database: Database,
}

impl Stage {
    pub async fn start() -> anyhow::Result<Self> {
        let database = database().await;
        let options = Options::default().with(&MAX_CLOCK_STEP);
        let server = Server::start_with(&database.url, options).await?;
        let url = server.url();
        let clients = (0..CLIENTS).map(|_| Deed::builder().connect(&url));
        Ok(Self {
            clients: clients.collect::<Result<_, _>>()?,
            server,
            _database: database,
        })
    }

    /// A worker's client; numbers beyond the last start anew.
    pub fn client(&self, number: usize) -> Deed {
        self.clients[number % self.clients.len()].clone()
    }

    /// Ends everything politely.
    pub async fn end(mut self) -> anyhow::Result<()> {
        for client in &self.clients {
            client.shutdown().await;
        }
        self.server.terminate()?;
        self.server.ended().await?;
        Ok(())
    }
}
