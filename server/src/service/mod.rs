//! Admission, fair shares and deadlines. Knows neither tonic nor SQL: commands in, judged replies out.

mod gate;
pub mod ledger;
mod turns;

use std::future::Future;
use std::time::{Duration, Instant};

use deed_core::command::Command;
use deed_core::id::ActionKey;
use deed_core::reply::{Refusal, Reply};
use deed_core::time::{Span, Timestamp};

pub use gate::Gate;
pub use turns::Line;

/// A command that was judged, with how long it waited inside the service before the database's time of its judgement.
#[derive(Debug)]
pub struct Judged {
    /// For the caller.
    pub reply: Reply,
    /// Replica's own time until the statement was sent, plus the database's wait for the lock.
    pub waited: Span,
    /// The database's time of the judgement, from which every length in the reply counts.
    pub now: Timestamp,
}

/// Why a call was not judged, or was refused. The gRPC edge has the one table from these to codes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The protocol refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The queue is full.
    #[error("too many calls are waiting; try again in {retry_after:?}")]
    Overloaded {
        /// When to try again.
        retry_after: Duration,
    },
    /// The database is away, or does not say what became of the call.
    #[error(
        "the database is not available: {why}; repeat the call with the same request id in {retry_after:?}"
    )]
    StoreUnavailable {
        /// For people.
        why: String,
        /// When to try again.
        retry_after: Duration,
    },
    /// The caller's deadline passed before the call could be judged. It was not executed, or a repeat will tell.
    #[error("the deadline passed before the call was judged; repeat it with the same request id")]
    DeadlineExceeded,
    /// The server drains.
    #[error("the server is shutting down; repeat the call with the same request id at another replica")]
    ShuttingDown,
}

/// One call on its way in.
#[derive(Debug)]
pub struct Call {
    /// What it asks.
    pub command: Command,
    /// When it arrived at this replica.
    pub arrived: Instant,
    /// When its caller gives up.
    pub deadline: Instant,
}

/// Judges calls. What the edges need of everything behind them.
pub trait Judge: Send + Sync + 'static {
    /// Judges one call and answers after its commit, or says why not. Dropping the future gives the call up.
    fn judge(&self, call: Call) -> impl Future<Output = Result<Judged, Error>> + Send;

    /// The same for a call that stands in a line. Only who bounds what is inside takes turns.
    fn judge_in_turn(&self, _line: Line, call: Call) -> impl Future<Output = Result<Judged, Error>> + Send {
        self.judge(call)
    }

    /// Begins to watch one action. Read it after this, not before, or a change in between is missed.
    fn watch(&self, key: &ActionKey) -> impl Watch + Send;
}

/// Watches one action, from the moment it was made. It is told of what its own judge has committed; what other replicas
/// commit, and what time decides, is for its holder to look for now and then.
pub trait Watch {
    /// Returns when the action has changed since the last time, or since the watch began.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
}
