//! One stream: calls that wait for their answers, by correlation id.
//!
//! Owns that every call on it ends: with its answer, with its caller's patience, or with the stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deed_proto::v1;
use futures::stream;
use tokio::sync::{mpsc, oneshot};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use v1::session_request::Call;
use v1::session_response::Outcome;

use crate::locked;
use crate::repeat::DOMAIN;
use crate::span;
use crate::wire::Generation;

/// The longest time that the server lets a caller name.
const LONGEST: Duration = Duration::from_secs(60);
/// What the server is told less than its caller's time, so that it is the server's word that arrives last. A call that is
/// cut off here makes the connection suspect; one that is told to be too late does not.
const MARGIN: Duration = Duration::from_millis(250);

/// Why a call on a stream has no answer.
#[derive(Debug, thiserror::Error)]
#[error("the session ended before the answer came")]
struct Broken;

/// A stream that is open.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The connection that it is on.
    pub generation: Generation,
    requests: mpsc::UnboundedSender<v1::SessionRequest>,
    pending: Arc<Pending>,
    last_id: AtomicU64,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// None once the stream has ended.
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<Outcome>>>>,
    served: AtomicBool,
}

/// One call's place among those that wait, given up with it.
struct Waiting<'a> {
    pending: &'a Pending,
    id: u64,
}

impl Stream {
    /// A stream that will be opened, and what is to be sent on it.
    pub fn new(
        generation: Generation,
    ) -> (
        Arc<Self>,
        impl futures::Stream<Item = v1::SessionRequest> + Send + 'static,
    ) {
        // Unbounded: whoever sends waits for the answer, so there are as many messages as callers.
        let (requests, mut behind) = mpsc::unbounded_channel();
        let pending = Arc::new(Pending {
            waiting: Mutex::new(Some(HashMap::new())),
            served: AtomicBool::new(false),
        });
        let stream = Self {
            generation,
            requests,
            pending,
            last_id: AtomicU64::new(0),
        };
        (Arc::new(stream), stream::poll_fn(move |cx| behind.poll_recv(cx)))
    }

    pub fn pending(&self) -> Arc<Pending> {
        Arc::clone(&self.pending)
    }

    pub fn waits_in(&self, pending: &Pending) -> bool {
        std::ptr::eq(self.pending.as_ref(), pending)
    }

    /// Makes one call. Dropping the future gives up the answer, not the call.
    pub async fn call(&self, call: Call, limit: Duration) -> Result<Outcome, Status> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        let _waiting = self.pending.wait(id, answer).ok_or_else(broken)?;
        let allowed = (limit - MARGIN.min(limit / 4)).min(LONGEST);
        let request = v1::SessionRequest {
            correlation_id: id,
            timeout: Some(span::to_wire(allowed)),
            call: Some(call),
        };
        self.requests.send(request).map_err(|_ended| broken())?;
        match answered.await {
            // SUBTLE: no word about the call. What opened this stream has expired or was exchanged; the repeat shows what is
            // valid now, and only its answer says that nothing is.
            Ok(Outcome::Error(error)) if error.code == i32::from(Code::Unauthenticated) => Err(broken()),
            Ok(Outcome::Error(error)) => Err(status(error)),
            Ok(outcome) => Ok(outcome),
            Err(_ended) => Err(broken()),
        }
    }
}

impl Pending {
    fn wait(&self, id: u64, answer: oneshot::Sender<Outcome>) -> Option<Waiting<'_>> {
        locked(&self.waiting).as_mut()?.insert(id, answer);
        Some(Waiting { pending: self, id })
    }

    /// Hands out an answer. Nobody may wait for it any more.
    pub fn answer(&self, id: u64, outcome: Outcome) {
        if let Some(answer) = self.forget(id) {
            self.served.store(true, Ordering::Relaxed);
            let _gone = answer.send(outcome);
        }
    }

    /// The call has no answer on this stream.
    pub fn forget(&self, id: u64) -> Option<oneshot::Sender<Outcome>> {
        locked(&self.waiting).as_mut()?.remove(&id)
    }

    /// No answers come any more: whoever waits is told.
    pub fn end(&self) {
        locked(&self.waiting).take();
    }

    /// Whether anybody ever got an answer.
    pub fn served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.forget(self.id);
    }
}

/// With a source, like everything that went wrong on this side of the connection.
fn broken() -> Status {
    let mut status = Status::unavailable(Broken.to_string());
    status.set_source(Arc::new(Broken));
    status
}

/// An entry's error, as the status that it would have been.
pub(crate) fn status(error: v1::EntryError) -> Status {
    let metadata = error.metadata.into_iter().map(|label| (label.key, label.value));
    let mut details =
        ErrorDetails::with_error_info(error.reason, DOMAIN, metadata.collect::<HashMap<_, _>>());
    if error.retry_after.is_some() {
        details.set_retry_info(Some(span::from_wire(error.retry_after)));
    }
    Status::with_error_details(Code::from(error.code), error.message, details)
}
