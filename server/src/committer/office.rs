//! What every lane of a committer shares: the protocol, the way into each lane, the release of replies.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deed_core::Protocol;
use deed_core::command::{Ask, Command, Request};
use deed_core::id::{ActionKey, Fingerprint, RequestId};
use deed_core::text::ExternalId;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::changes::Changes;
use super::job::{Job, unavailable};
use super::round::Staged;
use crate::service::{Call, Error, Judged};

/// What a caller at a full queue waits before it comes back: many batches are through by then.
const FULL_RETRY_AFTER: Duration = Duration::from_millis(200);

/// How long the other action of a contested external id is tried to be flagged, beyond its caller's patience: a
/// failover is over by then.
const FOLLOW_UP: Duration = Duration::from_secs(60);

/// Pause between two tries of it.
const FOLLOW_UP_PAUSE: Duration = Duration::from_millis(500);

/// The way into one lane.
#[derive(Debug)]
pub struct Door {
    inbox: mpsc::UnboundedSender<Job>,
    places: Arc<Semaphore>,
}

/// What every lane shares.
#[derive(Debug)]
pub struct Office {
    pub protocol: Protocol,
    /// How long failures are mended before callers are told.
    pub patience: Duration,
    pub changes: Changes,
    /// Everything that runs for the committer.
    pub tasks: TaskTracker,
    renewals: Door,
    lanes: Vec<Door>,
}

impl Door {
    /// A door with `places` places, and the inbox behind it.
    pub fn new(places: usize) -> (Self, mpsc::UnboundedReceiver<Job>) {
        let (inbox, behind) = mpsc::unbounded_channel();
        let places = Arc::new(Semaphore::new(places));
        (Self { inbox, places }, behind)
    }

    /// Hands a call in.
    fn admit(&self, call: Call) -> Result<oneshot::Receiver<Result<Judged, Error>>, Error> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_full| overloaded())?;
        let (job, arrives) = Job::new(call, Some(place));
        self.inbox.send(job).map_err(|_closed| Error::ShuttingDown)?;
        Ok(arrives)
    }

    /// Moves a job of another queue here; where this one is full, its caller is told.
    pub fn take_over(&self, job: Job) {
        match Arc::clone(&self.places).try_acquire_owned() {
            Err(_full) => job.answer(Err(overloaded())),
            Ok(place) => {
                if let Err(closed) = self.inbox.send(job.moved(Some(place))) {
                    closed.0.answer(Err(Error::ShuttingDown));
                }
            }
        }
    }
}

impl Office {
    pub fn new(protocol: Protocol, patience: Duration, renewals: Door, lanes: Vec<Door>) -> Self {
        Self {
            protocol,
            patience,
            changes: Changes::default(),
            tasks: TaskTracker::new(),
            renewals,
            lanes,
        }
    }

    /// Judges one call.
    pub async fn judge(&self, call: Call) -> Result<Judged, Error> {
        let arrives = self.door(&call.command).admit(call)?;
        arrives
            .await
            // Its lane has ended without an answer: whether the call was judged is not known.
            .unwrap_or_else(|_dropped| Err(unavailable("the call got no answer".into())))
    }

    /// Releases a reply whose transaction has committed.
    pub fn release(self: &Arc<Self>, job: Job, staged: Staged) {
        let Staged {
            reply,
            waited,
            now,
            changed,
            contests,
        } = staged;
        if changed {
            self.changes.tell(job.key());
        }
        let judged = reply
            .map(|reply| Judged { reply, waited, now })
            .map_err(Error::Refused);
        match contests {
            None => job.answer(judged),
            Some((other, external_id)) => {
                let office = Arc::clone(self);
                self.tasks.spawn(async move {
                    office.flag(&job, other, external_id).await;
                    job.answer(judged);
                });
            }
        }
    }

    /// Flags the other action of a contested external id.
    async fn flag(&self, job: &Job, other: ActionKey, external_id: ExternalId) {
        let until = Instant::now() + FOLLOW_UP;
        let mut last = None;
        while Instant::now() < until {
            let command = Command {
                key: other.clone(),
                request: Request {
                    id: RequestId(Uuid::new_v4()),
                    fingerprint: Fingerprint([0; 16]),
                    caller: job.call.command.request.caller.clone(),
                },
                ask: Ask::Contest {
                    by: job.key().action_id.clone(),
                    external_id: external_id.clone(),
                },
            };
            let call = Call {
                command,
                arrived: Instant::now(),
                deadline: until,
            };
            match self.judge(call).await {
                // A refusal says that there is nothing to flag any more.
                Ok(_) | Err(Error::Refused(_)) => return,
                Err(error @ Error::ShuttingDown) => {
                    last = Some(error);
                    break;
                }
                Err(
                    error @ (Error::Overloaded { .. }
                    | Error::StoreUnavailable { .. }
                    | Error::DeadlineExceeded),
                ) => last = Some(error),
            }
            tokio::time::sleep(FOLLOW_UP_PAUSE).await;
        }
        tracing::error!(
            action.namespace = %other.namespace,
            action.id = %other.action_id,
            contested.by = %job.key().action_id,
            error = last.map(|error| error.to_string()),
            "could not flag an action whose external id another action names as well; look at both"
        );
    }

    fn door(&self, command: &Command) -> &Door {
        let renewal = matches!(command.ask, Ask::Renew { .. });
        let mut hasher = DefaultHasher::new();
        command.key.hash(&mut hasher);
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(1).max(1);
        let lane = usize::try_from(hasher.finish() % lanes).unwrap_or(0);
        match self.lanes.get(lane) {
            Some(door) if !renewal => door,
            Some(_) | None => &self.renewals,
        }
    }
}

fn overloaded() -> Error {
    Error::Overloaded {
        retry_after: FULL_RETRY_AFTER,
    }
}
