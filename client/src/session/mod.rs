//! The session of this process: one stream that carries its calls, opened with the first of them.
//!
//! Owns when there is a stream. It makes nobody wait for one: while there is none (it is being opened, the server or a
//! proxy does not offer it, it broke) calls go alone, as unary calls, and nothing but speed is lost. What becomes of the
//! calls on a stream that breaks is decided where every other lost answer is: in `repeat`.

mod carry;
mod stream;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use deed_proto::v1;
use deed_proto::v1::ownership_client::OwnershipClient;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tonic::{Code, Status};
use v1::session_response::Outcome;

use crate::locked;
use crate::wire::Wire;
pub(crate) use carry::{Carry, carry};
use stream::Pending;
pub(crate) use stream::{Stream, status};

/// The server answers the opening at once. Something on the way that does not is no way for a stream.
const OPENING: Duration = Duration::from_secs(3);
/// Between two streams that came to nothing: at first, at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// When a server that knows no sessions is asked again: by then it may have been replaced.
const NOT_OFFERED: Duration = Duration::from_secs(60);
/// The answer to a batch of 1,000 settled actions whose stored results have 256 KiB each, and as much again. A smaller limit
/// would break the stream at an answer that a repeat only brings again.
pub(crate) const LARGEST_ANSWER: usize = 512 * 1024 * 1024;

/// See the module. Shared by all clones of a client.
#[derive(Debug)]
pub(crate) struct Session {
    wire: Arc<Wire>,
    runtime: Handle,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// None; the next call from this moment on opens one.
    Closed {
        from: Instant,
        pause: Duration,
    },
    /// The pause is for the case that it comes to nothing.
    Opening {
        pause: Duration,
    },
    Open {
        stream: Arc<Stream>,
        pause: Duration,
    },
}

impl Session {
    /// Opens nothing yet.
    pub fn new(wire: Arc<Wire>, runtime: Handle) -> Self {
        let closed = State::Closed {
            from: Instant::now(),
            pause: FIRST_PAUSE,
        };
        Self {
            wire,
            runtime,
            state: Mutex::new(closed),
        }
    }

    /// The stream, where there is one. Where there is none, the opening of one begins.
    pub fn stream(this: &Arc<Self>) -> Option<Arc<Stream>> {
        let mut state = locked(&this.state);
        let pause = match &*state {
            // SUBTLE: a stream on a connection that has been replaced is as suspect as its connection, also where it was
            // another call that found it dead: a renewal notices sooner than anything on the stream.
            State::Open { stream, .. } if stream.generation == this.wire.generation() => {
                return Some(Arc::clone(stream));
            }
            State::Open { pause, .. } => *pause,
            State::Opening { .. } => return None,
            State::Closed { from, .. } if Instant::now() < *from => return None,
            State::Closed { pause, .. } => *pause,
        };
        *state = State::Opening { pause };
        let (wire, session) = (Arc::clone(&this.wire), Arc::downgrade(this));
        this.runtime.spawn(run(wire, session));
        None
    }

    fn opened(&self, stream: &Arc<Stream>) {
        let mut state = locked(&self.state);
        if let State::Opening { pause } = *state {
            let stream = Arc::clone(stream);
            *state = State::Open { stream, pause };
        }
    }

    /// The opening came to nothing.
    fn refused(&self, status: &Status) {
        let mut state = locked(&self.state);
        if let State::Opening { pause } = *state {
            let wait = match status.code() {
                Code::Unimplemented => NOT_OFFERED,
                _ => pause,
            };
            *state = State::Closed {
                from: Instant::now() + wait,
                pause: (pause * 2).min(LONGEST_PAUSE),
            };
        }
    }

    /// The stream has ended. One that served somebody is opened again at once.
    fn ended(&self, ended: &Pending) {
        let mut state = locked(&self.state);
        if let State::Open { stream, pause } = &*state
            && stream.waits_in(ended)
        {
            let (wait, pause) = match ended.served() {
                true => (Duration::ZERO, FIRST_PAUSE),
                false => (*pause, (*pause * 2).min(LONGEST_PAUSE)),
            };
            *state = State::Closed {
                from: Instant::now() + wait,
                pause,
            };
        }
    }
}

/// Opens a stream and hands out its answers until it ends. Holds neither the session nor the stream, so that both close
/// when their last user goes.
async fn run(wire: Arc<Wire>, session: Weak<Session>) {
    let (generation, channel) = wire.channel();
    let (stream, requests) = Stream::new(generation);
    let pending = stream.pending();
    let mut client = OwnershipClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
    let opening = timeout(OPENING, client.session(requests)).await;
    let opened = opening.unwrap_or_else(|_late| Err(Status::deadline_exceeded("the session does not open")));
    let mut answers = match opened {
        Ok(response) => response.into_inner(),
        Err(status) => {
            tracing::debug!(%status, "there is no session; calls go alone");
            if let Some(session) = session.upgrade() {
                session.refused(&status);
            }
            return;
        }
    };
    if let Some(session) = session.upgrade() {
        session.opened(&stream);
    }
    drop(stream);
    let end = loop {
        match answers.message().await {
            Ok(Some(answer)) => match answer.outcome {
                Some(Outcome::Draining(_)) => wire.replace(generation),
                Some(outcome) => pending.answer(answer.correlation_id, outcome),
                // A kind of answer that this client does not know: its caller repeats the call, alone.
                None => drop(pending.forget(answer.correlation_id)),
            },
            Ok(None) => break None,
            Err(status) => break Some(status),
        }
    };
    tracing::debug!(status = ?end, "the session has ended; what was under way on it is repeated");
    pending.end();
    if let Some(session) = session.upgrade() {
        session.ended(&pending);
    }
}
