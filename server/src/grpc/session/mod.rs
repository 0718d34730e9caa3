//! Sessions: one stream that carries any call of a worker or witness, each judged and answered as if it had come alone.
//!
//! An entry that fails is answered under its own correlation id and costs its neighbours nothing. What breaks the stream
//! itself (a message that cannot be read, a correlation id that nobody could be answered under) ends it, once everything
//! in flight has been answered. How much may be in flight is `flow`'s business.

mod flow;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deed_core::time::Span;
use deed_proto::v1;
use futures::stream::Stream;
use tonic::Status;
use v1::session_request::Call;
use v1::session_response::Outcome;

use super::clock::{DEFAULT_DEADLINE, Life, MAX_DEADLINE};
use super::edge::Edge;
use super::error::Failure;
use super::parse::time::span_within;
use super::parse::{Invalid, required};
use crate::auth::Caller;
use crate::service::ledger::Ledger;
use crate::service::{Error, Judge, Line};
use flow::Flow;
#[cfg(test)]
pub use flow::MAX_IN_FLIGHT;

/// What a session answers.
pub type Answers = Pin<Box<dyn Stream<Item = Result<v1::SessionResponse, Status>> + Send>>;

/// Tells the sessions of this process apart, so that each takes turns with the others.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// One session.
struct Session<J, L> {
    edge: Edge<J, L>,
    caller: Arc<Caller>,
    line: Line,
}

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// Opens a session for a caller that was let in.
    pub(super) fn session(
        &self,
        caller: Arc<Caller>,
        requests: impl Stream<Item = Result<v1::SessionRequest, Status>> + Send + Unpin + 'static,
    ) -> Result<Answers, Failure> {
        if self.stop.is_cancelled() {
            return Err(Error::ShuttingDown.into());
        }
        let session = Arc::new(Session {
            edge: self.clone(),
            caller,
            line: Line::Session(SESSIONS.fetch_add(1, Ordering::Relaxed)),
        });
        let start =
            move |request| Session::answer(Arc::clone(&session), request, Life::lasting(MAX_DEADLINE));
        Ok(Box::pin(Flow::new(requests, start, self.stop.clone())))
    }
}

impl<J: Judge, L: Ledger> Session<J, L> {
    /// Answers one entry; `life` begins with its arrival.
    async fn answer(session: Arc<Self>, request: v1::SessionRequest, life: Life) -> v1::SessionResponse {
        let correlation_id = request.correlation_id;
        let outcome = session.outcome(request, life).await;
        v1::SessionResponse {
            correlation_id,
            outcome: Some(outcome.unwrap_or_else(|failure| Outcome::Error(failure.told().into()))),
        }
    }

    async fn outcome(&self, request: v1::SessionRequest, life: Life) -> Result<Outcome, Failure> {
        let life = Life {
            deadline: life.arrived + allowed(request.timeout)?,
            line: self.line,
            ..life
        };
        let (edge, caller) = (&self.edge, self.caller.as_ref());
        caller.still_proven()?;
        Ok(match required(request.call, "call")? {
            Call::Plan(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Claim(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Begin(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Report(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Verify(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Release(message) => Outcome::Answer(edge.work(caller, life, message).await?),
            Call::Observe(message) => Outcome::Answer(edge.observe(caller, life, message).await?),
            Call::Renew(message) => Outcome::Renew(edge.renew(caller, life, message).await?),
            Call::ClaimDue(message) => Outcome::ClaimDue(edge.claim_due(caller, life, message).await?),
            Call::BatchClaim(message) => {
                let results = edge.batch(caller, life, message.entries).await?;
                Outcome::BatchClaim(v1::BatchClaimResponse { results })
            }
            Call::BatchReport(message) => {
                let results = edge.batch(caller, life, message.entries).await?;
                Outcome::BatchReport(v1::BatchReportResponse { results })
            }
        })
    }
}

/// How long an entry's caller will wait.
fn allowed(timeout: Option<prost_types::Duration>) -> Result<Duration, Invalid> {
    let most = Span::from_secs(MAX_DEADLINE.as_secs());
    let named = span_within(timeout, Span::ZERO..=most, "timeout")?;
    Ok(named.map_or(DEFAULT_DEADLINE, |span| Duration::from_micros(span.micros())))
}

#[cfg(test)]
mod tests;
