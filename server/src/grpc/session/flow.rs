//! The flow of one session: reads while there is room, answers in the order in which calls end, and ends with everything
//! answered.
//!
//! It runs inside the task that writes the answers, and nowhere else: no task for a session, none for a call. So a reader
//! that takes no answers stops the reading as well, and what waits for it is bounded by what is in flight.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use deed_proto::v1;
use futures::stream::{FuturesUnordered, Stream, StreamExt};
use prost::Message;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;
use v1::session_request::Call;
use v1::session_response::{Draining, Outcome};

use crate::grpc::envelope;
use crate::grpc::error::Failure;
use crate::grpc::parse::Invalid;

/// Calls in flight on one session, every entry of a batch counted; beyond it nothing is read, and HTTP/2 holds the sender
/// back. As many as one connection may have unary calls.
pub const MAX_IN_FLIGHT: usize = 1_024;

/// Bytes of messages in flight on one session: twice the largest message.
pub const MAX_BYTES_IN_FLIGHT: usize = 2 * crate::grpc::MAX_MESSAGE_BYTES;

/// What a call takes while it is in flight.
#[derive(Clone, Copy, Default)]
struct Load {
    calls: usize,
    bytes: usize,
}

/// See the module. `start` makes the future that answers one request under its correlation id.
pub struct Flow<I, S, F> {
    /// Gone once there is nothing more to read.
    requests: Option<I>,
    start: S,
    running: FuturesUnordered<F>,
    /// By correlation id.
    in_flight: HashMap<u64, Load>,
    load: Load,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    draining: bool,
    /// What the stream ends with, where it was broken.
    broken: Option<Status>,
}

impl<I, S, F> Flow<I, S, F>
where
    I: Stream<Item = Result<v1::SessionRequest, Status>> + Unpin,
    S: FnMut(v1::SessionRequest) -> F,
    F: Future<Output = v1::SessionResponse>,
{
    pub fn new(requests: I, start: S, stop: CancellationToken) -> Self {
        Self {
            requests: Some(requests),
            start,
            running: FuturesUnordered::new(),
            in_flight: HashMap::new(),
            load: Load::default(),
            stop: Box::pin(stop.cancelled_owned()),
            draining: false,
            broken: None,
        }
    }

    /// Reads what has arrived, as far as there is room.
    fn read(&mut self, cx: &mut Context<'_>) {
        while self.load.calls < MAX_IN_FLIGHT && self.load.bytes < MAX_BYTES_IN_FLIGHT {
            let Some(requests) = &mut self.requests else {
                return;
            };
            let read = match requests.poll_next_unpin(cx) {
                Poll::Pending => return,
                Poll::Ready(None) => Err(None),
                Poll::Ready(Some(Ok(request))) => self.take(request).map_err(Some),
                Poll::Ready(Some(Err(status))) => Err(Some(envelope::told(&status).into())),
            };
            if let Err(broken) = read {
                self.requests = None;
                self.broken = broken;
            }
        }
    }

    fn take(&mut self, request: v1::SessionRequest) -> Result<(), Status> {
        let id = request.correlation_id;
        // SUBTLE: the stream ends. An answer under this id could be taken for that to another call, and a caller that
        // believes a stranger's grant sends what it must not.
        if id == 0 || self.in_flight.contains_key(&id) {
            let reason = match id {
                0 => "is 0, under which no call can be answered".to_owned(),
                _ => format!("is {id}, which another call in flight on this stream has"),
            };
            let field = "correlation_id".to_owned();
            return Err(Failure::from(Invalid { field, reason }).into());
        }
        let load = Load {
            calls: calls(&request),
            bytes: request.encoded_len(),
        };
        self.load.calls += load.calls;
        self.load.bytes += load.bytes;
        self.in_flight.insert(id, load);
        self.running.push((self.start)(request));
        Ok(())
    }

    fn answered(&mut self, answer: &v1::SessionResponse) {
        if let Some(load) = self.in_flight.remove(&answer.correlation_id) {
            self.load.calls -= load.calls;
            self.load.bytes -= load.bytes;
        }
    }

    /// Nothing in flight is left, and nothing more is taken.
    fn over(&self) -> bool {
        self.running.is_empty() && (self.draining || self.requests.is_none())
    }
}

impl<I, S, F> Unpin for Flow<I, S, F> {}

impl<I, S, F> Stream for Flow<I, S, F>
where
    I: Stream<Item = Result<v1::SessionRequest, Status>> + Unpin,
    S: FnMut(v1::SessionRequest) -> F,
    F: Future<Output = v1::SessionResponse>,
{
    type Item = Result<v1::SessionResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if !this.draining && this.stop.as_mut().poll(cx).is_ready() {
            this.draining = true;
            return Poll::Ready(Some(Ok(draining())));
        }
        if !this.over() {
            this.read(cx);
        }
        if this.over() {
            return Poll::Ready(this.broken.take().map(Err));
        }
        match ready!(this.running.poll_next_unpin(cx)) {
            Some(answer) => {
                this.answered(&answer);
                Poll::Ready(Some(Ok(answer)))
            }
            // Nothing is in flight; the next request wakes the stream.
            None => Poll::Pending,
        }
    }
}

fn draining() -> v1::SessionResponse {
    v1::SessionResponse {
        correlation_id: 0,
        outcome: Some(Outcome::Draining(Draining {})),
    }
}

/// How many calls a request is.
fn calls(request: &v1::SessionRequest) -> usize {
    let entries = match &request.call {
        Some(Call::BatchClaim(batch)) => batch.entries.len(),
        Some(Call::BatchReport(batch)) => batch.entries.len(),
        Some(Call::Renew(renewal)) => renewal.leases.len(),
        Some(
            Call::Plan(_)
            | Call::Claim(_)
            | Call::Begin(_)
            | Call::Report(_)
            | Call::Verify(_)
            | Call::Release(_)
            | Call::Observe(_)
            | Call::ClaimDue(_),
        )
        | None => 1,
    };
    entries.max(1)
}
