//! Repeats a call until it is answered or its time is over. The same message every time, so the same request id: the
//! service answers a repeat as it answered the first.
//!
//! Owns when to repeat. It refuses to judge answers; an answer, whatever it says, ends the repetition.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, timeout};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt;

use crate::clock::{Clock, Moment};
use crate::error::{CallError, Refusal};
use crate::session::{Carry, Session, Stream};
use crate::wire::{Channel, Wire};

/// Under this domain the service itself speaks.
pub(crate) const DOMAIN: &str = "deed";
/// The first repeat comes soon, since most lost answers are single accidents.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Not longer: whoever holds a lease has to be back before it lapses.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// One try.
    pub each: Duration,
    /// All of them.
    pub total: Duration,
}

/// An answer, and the moment before the call that got it was sent.
#[derive(Debug)]
pub(crate) struct Answered<T> {
    pub asked: Moment,
    /// More than one: an earlier answer was lost, and what it said may have come about.
    pub tries: u32,
    pub message: T,
}

impl<T> Answered<T> {
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answered<U> {
        Answered {
            asked: self.asked,
            tries: self.tries,
            message: change(self.message),
        }
    }
}

/// Sends calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub wire: Arc<Wire>,
    /// None where every call is to go alone.
    pub session: Option<Arc<Session>>,
    pub clock: Arc<dyn Clock>,
}

impl Caller {
    /// Where the call can travel on a session, and there is one, it does; else `alone` gets one channel and one request for
    /// each try.
    pub async fn repeat<M, T, F>(
        &self,
        call: &'static str,
        message: M,
        limits: Limits,
        carry: Option<Carry<M, T>>,
        alone: impl Fn(Channel, Request<M>) -> F,
    ) -> Result<Answered<T>, CallError>
    where
        M: Clone,
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let started = Instant::now();
        let deadline = started + limits.total;
        let mut pauses = pauses();
        let mut tries = 0;
        loop {
            tries += 1;
            let limit = limits
                .each
                .min(deadline.saturating_duration_since(Instant::now()));
            // SUBTLE: read anew for each try. A repeat is answered with the time left from that repeat on, and the moment
            // of the first try would make a lease look shorter than it is, a later one longer.
            let asked = Moment::now(self.clock.as_ref());
            let travels = carry
                .as_ref()
                .zip(self.session.as_ref().and_then(Session::stream));
            let (generation, answer) = match travels {
                Some((carry, stream)) => {
                    let sent = on_session(&stream, carry, message.clone(), limit);
                    (stream.generation, timeout(limit, sent).await)
                }
                None => {
                    let (generation, channel) = self.wire.channel();
                    let mut request = Request::new(message.clone());
                    request.set_timeout(limit);
                    let answer = timeout(limit, alone(channel, request)).await;
                    (
                        generation,
                        answer.map(|response| response.map(Response::into_inner)),
                    )
                }
            };
            let last = match answer {
                Ok(Ok(message)) => {
                    return Ok(Answered {
                        asked,
                        tries,
                        message,
                    });
                }
                Ok(Err(status)) => Some(status),
                Err(_) => None,
            };
            let wish = match &last {
                None => Duration::ZERO,
                Some(status) => match verdict(status) {
                    Verdict::Refused(refusal) => {
                        let refusal = Box::new(refusal);
                        return Err(CallError::Refused { call, refusal });
                    }
                    Verdict::Again(wish) => wish,
                },
            };
            // A status with a source was made on this side: the connection failed, or the call was cut off. A session on it
            // is given up with it.
            if last
                .as_ref()
                .is_none_or(|status| std::error::Error::source(status).is_some())
            {
                self.wire.replace(generation);
            }
            let pause = pauses.next().unwrap_or(LONGEST_PAUSE).max(wish);
            if Instant::now() + pause >= deadline {
                return Err(CallError::Unanswered {
                    call,
                    tries,
                    waited: started.elapsed(),
                    last: last.map(Box::new),
                });
            }
            tracing::debug!(call, tries, status = ?last.as_ref().map(Status::code), "repeating the call");
            tokio::time::sleep(pause).await;
        }
    }
}

/// Between two tries.
pub(crate) fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
}

async fn on_session<M, T>(
    stream: &Stream,
    carry: &Carry<M, T>,
    message: M,
    limit: Duration,
) -> Result<T, Status> {
    let outcome = stream.call((carry.entry)(message), limit).await?;
    let other = || Status::data_loss("the session answered as to another call");
    (carry.response)(outcome).ok_or_else(other)
}

/// What a status says about the call.
pub(crate) enum Verdict {
    Refused(Refusal),
    /// Not before this much time has passed.
    Again(Duration),
}

pub(crate) fn verdict(status: &Status) -> Verdict {
    let details = status.get_error_details();
    let own = details.error_info().filter(|info| info.domain == DOMAIN);
    let again = match (status.code(), own) {
        (Code::Unavailable | Code::DeadlineExceeded, _) => true,
        (Code::ResourceExhausted, Some(info)) => info.reason == "OVERLOADED",
        // Not the service's own word: the way to it broke, and every call is safe to repeat.
        (Code::Unknown | Code::Internal | Code::Cancelled | Code::Aborted, None) => true,
        // SUBTLE: a connection that its other end closed for too much traffic has this code as well, and the call may
        // not even have arrived. A status with a source was made on this side.
        (Code::ResourceExhausted, None) => std::error::Error::source(status).is_some(),
        _ => false,
    };
    if again {
        let wish = details.retry_info().and_then(|info| info.retry_delay);
        return Verdict::Again(wish.unwrap_or_default());
    }
    Verdict::Refused(Refusal {
        code: status.code(),
        reason: own.map(|info| info.reason.clone()),
        message: status.message().to_owned(),
        metadata: own
            .map(|info| info.metadata.clone().into_iter().collect())
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    fn own(code: Code, reason: &str) -> Status {
        let mut details = ErrorDetails::with_error_info(reason, DOMAIN, HashMap::new());
        details.set_retry_info(Some(Duration::from_secs(2)));
        Status::with_error_details(code, "x", details)
    }

    fn repeated(status: &Status) -> bool {
        matches!(verdict(status), Verdict::Again(_))
    }

    #[test]
    fn what_may_be_answered_later_is_repeated_and_not_before_the_service_wishes() {
        let overloaded = own(Code::ResourceExhausted, "OVERLOADED");
        assert!(matches!(verdict(&overloaded), Verdict::Again(wish) if wish == Duration::from_secs(2)));
        assert!(repeated(&own(Code::Unavailable, "STORE_UNAVAILABLE")));
        assert!(repeated(&Status::new(Code::DeadlineExceeded, "")));
        assert!(repeated(&Status::new(Code::Unknown, "transport error")));
    }

    #[test]
    fn regression_a_connection_closed_for_too_much_traffic_is_no_judgement() {
        let mut status = Status::new(Code::ResourceExhausted, "h2 protocol error");
        status.set_source(Arc::new(std::io::Error::other("too_many_resets")));
        assert!(repeated(&status));
    }

    #[test]
    fn a_judgement_is_not_repeated() {
        for (code, reason) in [
            (Code::AlreadyExists, "INPUT_MISMATCH"),
            (Code::InvalidArgument, "INVALID_FIELD"),
            (Code::Aborted, "VERSION_CHANGED"),
        ] {
            assert!(!repeated(&own(code, reason)), "{reason}");
        }
        assert!(!repeated(&Status::new(
            Code::ResourceExhausted,
            "message too large"
        )));
        assert!(!repeated(&Status::new(Code::Unimplemented, "Session")));
    }
}
