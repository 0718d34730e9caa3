//! The receiver: a stand-in for the outside system in which effects happen.
//!
//! A real HTTP server on loopback with a ledger of its own and dials for everything that outside systems do to their
//! clients. What counts in a test is its ledger, never the number of calls. It knows nothing of Deed, and keeps no
//! promise that its dials do not tell it to keep.
//!
//! [`Receiver`] runs it inside a test, the binary `receiver` as a process of its own; both serve the same `http` over
//! the same `world`. A worker talks to either through [`ReceiverClient`].

mod call;
mod client;
mod conduct;
mod connection;
mod dials;
mod gate;
mod http;
mod jobs;
mod journal;
mod landing;
mod ledger;
mod messages;
mod odds;
mod sight;
mod world;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use call::{Applied, Call, Doubt, Seen};
pub use client::ReceiverClient;
pub use dials::{
    Admission, AnswerFault, Dials, Fault, Fencing, Idempotency, JobEnd, LookupFault, Mode, Queued,
    StoredRefusals,
};
pub use ledger::{Application, Job, Ledger, Summary};
pub use messages::{
    DEFAULT_PLACE, EffectAnswer, EffectRequest, ErrorBody, FencingToken, IN_RIGHT_PLACE, JobStatus,
    LookupAnswer, LookupRequest, SeenEffect, SeenJob, VERSION_CONFLICT,
};
pub use odds::{Magnitudes, Odds, WRONG_PLACE, draw_fault};
pub use world::Crash;

use connection::{Switch, SwitchedListener};
use journal::Journal;
use world::World;

/// How to start a receiver. The default listens on a free port of 127.0.0.1 and keeps its ledger in memory.
#[derive(Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// The journal's file; the ledger it holds is taken up.
    pub data: Option<PathBuf>,
    pub dials: Dials,
    /// What the dial *crash* does after an effect, before its answer is dropped.
    pub crash: Crash,
}

impl Default for Options {
    fn default() -> Self {
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        Self {
            listen,
            data: None,
            dials: Dials::default(),
            crash: Arc::new(|| {}),
        }
    }
}

/// A running receiver; it stops listening when dropped.
pub struct Receiver {
    pub address: SocketAddr,
    world: Arc<World>,
    server: JoinHandle<io::Result<()>>,
}

impl Receiver {
    /// Starts one on a free port.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(Options::default()).await
    }

    pub async fn start_with(options: Options) -> io::Result<Self> {
        let Options {
            listen,
            data,
            dials,
            crash,
        } = options;
        let (journal, ledger) = match data {
            Some(path) => Journal::open(&path).map(|(journal, ledger)| (Some(journal), ledger))?,
            None => (None, Ledger::default()),
        };
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let world = World::new(ledger, journal, dials, crash);
        let service = http::router(Arc::clone(&world)).into_make_service_with_connect_info::<Switch>();
        let server = tokio::spawn(async move { axum::serve(SwitchedListener(listener), service).await });
        Ok(Self {
            address,
            world,
            server,
        })
    }

    /// Serves until the process ends.
    pub async fn serve(mut self) -> io::Result<()> {
        (&mut self.server).await.map_err(io::Error::other)?
    }

    /// A client for this receiver.
    pub fn client(&self, timeout: Duration) -> Result<ReceiverClient, reqwest::Error> {
        ReceiverClient::new(self.address, timeout)
    }

    /// Replaces the standing behaviour.
    pub fn dial(&self, dials: Dials) {
        self.world.turn(dials);
    }

    /// Queues faults for the next requests about one business id, in order, in place of what was queued.
    pub fn fault(&self, business_id: &str, effects: impl Into<Vec<Fault>>) {
        self.world.queue(
            business_id,
            Queued {
                effects: effects.into(),
                lookups: Vec::new(),
            },
        );
    }

    /// As [`Receiver::fault`], for lookups too.
    pub fn queue(&self, business_id: &str, queued: Queued) {
        self.world.queue(business_id, queued);
    }

    /// Ends every delay under way for this business id and shows what is hidden of it. An effect that is yet to land
    /// may be hidden again by its own fault.
    pub fn release(&self, business_id: &str) {
        self.world.release(business_id);
    }

    /// Everything that was ever applied, hidden or not.
    pub fn ledger(&self) -> Vec<Application> {
        self.world.read(|ledger| ledger.applications.clone())
    }

    /// Everything that was ever applied for one business id.
    pub fn effects(&self, business_id: &str) -> Vec<Application> {
        self.world.read(|ledger| ledger.of(business_id))
    }

    /// How many requests for an effect of this business id have arrived, whatever became of them.
    pub fn requests(&self, business_id: &str) -> u64 {
        self.world
            .read(|ledger| ledger.requests.get(business_id).copied().unwrap_or_default())
    }

    pub fn summary(&self) -> Summary {
        self.world.read(Ledger::summary)
    }

    /// Waits until the ledger, jobs and requests included, is as the condition wants it; bound it with a timeout.
    pub async fn until(&self, condition: impl Fn(&Ledger) -> bool) {
        self.world.until(|| self.world.read(&condition)).await;
    }

    /// Waits until that many requests for an effect of this business id have arrived, whatever becomes of them.
    pub async fn until_requested(&self, business_id: &str, times: u64) {
        self.until(|ledger| ledger.requests.get(business_id).copied().unwrap_or_default() >= times)
            .await;
    }

    /// Waits until a request with this idempotency key is under way.
    pub async fn until_key_in_progress(&self, key: &str) {
        self.world.until(|| self.world.key_in_progress(key)).await;
    }

    /// Waits until that many applications for this business id are in the ledger.
    pub async fn until_applied(&self, business_id: &str, times: usize) {
        self.until(|ledger| ledger.of(business_id).len() >= times).await;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}
