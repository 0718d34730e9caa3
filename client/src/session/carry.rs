//! How a message travels on a session: as which call it goes, and as which outcome its answer comes.

use deed_proto::v1::session_request::Call;
use deed_proto::v1::session_response::Outcome;

/// How one kind of call travels.
pub(crate) struct Carry<M, T> {
    pub entry: fn(M) -> Call,
    /// None where the outcome is another call's.
    pub response: fn(Outcome) -> Option<T>,
}

/// How calls with this response travel: `as Claim` is answered as `Claim` is, `whole BatchClaim` with its whole response,
/// and `alone` never goes on a session.
macro_rules! carry {
    ($Response:ident alone) => {
        None
    };
    ($Response:ident as $Call:ident) => {
        carry!(@ $Call, Answer(answer) => deed_proto::v1::$Response { answer: Some(answer) })
    };
    ($Response:ident whole $Call:ident) => {
        carry!(@ $Call, $Call(response) => response)
    };
    (@ $Call:ident, $Outcome:ident($it:ident) => $response:expr) => {
        Some($crate::session::Carry {
            entry: deed_proto::v1::session_request::Call::$Call,
            response: |outcome| match outcome {
                deed_proto::v1::session_response::Outcome::$Outcome($it) => Some($response),
                _ => None,
            },
        })
    };
}
pub(crate) use carry;
