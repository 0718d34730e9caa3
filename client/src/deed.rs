//! The client's handle: connecting, settings, stopping.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use uuid::Uuid;

use crate::action::Action;
use crate::calls::Calls;
use crate::clock::{Clock, SystemClock};
use crate::door::Door;
use crate::error::Error;
use crate::repeat::{Caller, Limits};
use crate::session::Session;
use crate::span::minutes;
use crate::text;
use crate::wire::Wire;
use crate::worker::{Settings, Worker};

/// Long enough for a short send of somebody else to end, short enough for a queue's consumer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Long enough for a failover of the database.
const REPORT_DEADLINE: Duration = minutes(5);
/// One try; beyond this the connection is suspected to be dead.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// A worker's connection to Deed. Clones share it, its lease renewals and its stop.
#[derive(Clone, Debug)]
pub struct Deed {
    worker: Worker,
}

impl Deed {
    /// A client with all defaults. Connects with the first call, so a worker may be started before the service.
    ///
    /// To be called inside a tokio runtime, which has to keep running for as long as leases are held. Before the process
    /// ends, wait for [`Deed::shutdown`]: what a dropped `perform` left behind is told in the background.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect(url)
    }

    /// A client with settings of its own.
    pub fn builder() -> Builder {
        Builder {
            namespace: "default".to_owned(),
            owner: None,
            patience: PATIENCE,
            report_deadline: REPORT_DEADLINE,
            call_timeout: CALL_TIMEOUT,
            transport: Transport::Session,
            clock: Arc::new(SystemClock::default()),
            door: Door::default(),
        }
    }

    /// Names an action by the business intent, the same for every attempt at it: `order-4821/charge`.
    pub fn action(&self, action_id: &str) -> Action {
        Action::new(self.worker.clone(), action_id)
    }

    /// The calls of the API, for everything that `perform` does not cover.
    pub fn calls(&self) -> &Calls {
        self.worker.calls()
    }

    /// The worker instance that claims: host, process and a random part, unless it was set.
    pub fn owner(&self) -> &str {
        &self.worker.settings().owner
    }

    /// The namespace of actions that name none.
    pub fn namespace(&self) -> &str {
        &self.worker.settings().namespace
    }

    /// Stops at once: waits end, what has not begun is released, sends under way are cut off and reported as unknown.
    /// Returns when the service has been told all of it; every `perform` then ends with [`Error::Stopping`].
    pub async fn shutdown(&self) {
        self.drain(Duration::ZERO).await;
    }

    /// As [`Deed::shutdown`], but sends and lookups under way have `grace` to end by themselves. Nothing new is claimed
    /// or sent meanwhile.
    pub async fn drain(&self, grace: Duration) {
        self.worker.stop(grace).await;
    }
}

/// Settings of a client.
#[derive(Clone, Debug)]
#[must_use = "call `connect`"]
pub struct Builder {
    namespace: String,
    owner: Option<String>,
    patience: Duration,
    report_deadline: Duration,
    call_timeout: Duration,
    transport: Transport,
    clock: Arc<dyn Clock>,
    pub(crate) door: Door,
}

/// How calls travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transport {
    /// On one stream, where there is one.
    Session,
    /// Each alone.
    Unary,
}

impl Builder {
    /// The boundary of trust that actions live in. Default: `default`.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = text::key(namespace);
        self
    }

    /// Names this worker instance. Default: host, process id and a random part. Two processes of one name keep each other
    /// out all the same.
    pub fn owner(mut self, owner: &str) -> Self {
        self.owner = Some(text::key(owner));
        self
    }

    /// How long `perform` waits through waits and held leases before it answers `Pending`. Default 30 s.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a report is repeated before its receipt is handed back. Default 5 min.
    pub fn report_deadline(mut self, deadline: Duration) -> Self {
        self.report_deadline = deadline;
        self
    }

    /// How long one try of a call may take; it is then repeated over a new connection. Default 10 s.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Makes every call alone. Default: the calls of this process share one stream, which costs both sides less; where the
    /// server or a proxy does not offer it, calls go alone by themselves.
    pub fn unary_only(mut self) -> Self {
        self.transport = Transport::Unary;
        self
    }

    /// Reads the time from somewhere else: for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the client; `url` is `https://host:port`, or `http://host:port` for plain text. Connects with the first call.
    pub fn connect(self, url: &str) -> Result<Deed, Error> {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let settings = Settings {
            namespace: self.namespace,
            owner: self.owner.unwrap_or_else(default_owner),
            patience: self.patience,
            report_deadline: self.report_deadline,
            call_timeout: self.call_timeout,
            clock: self.clock,
        };
        let wire = Arc::new(Wire::new(url, self.door)?);
        let session = match self.transport {
            Transport::Session => Some(Arc::new(Session::new(Arc::clone(&wire), runtime.clone()))),
            Transport::Unary => None,
        };
        let caller = Caller {
            wire,
            session,
            clock: settings.clock.clone(),
        };
        let limits = Limits {
            each: settings.call_timeout,
            total: settings.patience.max(settings.call_timeout),
        };
        let calls = Calls::new(caller, settings.owner.clone(), limits);
        Ok(Deed {
            worker: Worker::new(settings, calls, runtime),
        })
    }
}

/// Tells people where a lease is held; the random part tells a restarted process from the one before.
fn default_owner() -> String {
    let host = std::env::var("HOSTNAME")
        .or_else(|_| std::fs::read_to_string("/proc/sys/kernel/hostname"))
        .unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    let host = if host.is_empty() { "worker" } else { &host };
    let random = Uuid::new_v4().simple().to_string();
    let (random, _) = random.split_at(8);
    text::key(&format!("{host}-{}-{random}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_outside_a_runtime_is_refused() {
        assert!(matches!(
            Deed::connect("http://127.0.0.1:1"),
            Err(Error::NoRuntime)
        ));
    }

    #[tokio::test]
    async fn two_clients_have_two_owners() {
        let first = Deed::connect("http://127.0.0.1:1").unwrap();
        let second = Deed::connect("http://127.0.0.1:1").unwrap();
        assert_ne!(first.owner(), second.owner());
    }
}
