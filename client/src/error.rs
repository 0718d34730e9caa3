//! What can go wrong between a worker and Deed. `Held`, `Wait`, `Settled` and `Blocked` are answers, not errors.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use deed_proto::v1;
use tonic::Code;

use crate::input::InputError;
use crate::observation::Observation;
use crate::receipt::Receipt;

/// Why `perform` and its relatives came to no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the service cannot be used.
    #[error("{url:?} is no address of a Deed server; use https://host:port, or http://host:port")]
    Address {
        /// As it was given.
        url: String,
        /// What is wrong with it, where the transport said so.
        #[source]
        source: Option<tonic::transport::Error>,
    },
    /// What is to be shown, or checked, needs TLS, and the address is without.
    #[error(
        "refusing to use {shown} with {url:?}: it is plain text, which everybody on the way reads and may change; use \
         https://, or for a token an address of this machine"
    )]
    PlainText {
        /// The address.
        url: String,
        /// What it would be.
        shown: &'static str,
    },
    /// A file cannot be read, or is not what it should be.
    #[error("{} cannot be used as {what}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// Why it could not be read; none where it could.
        #[source]
        source: Option<std::io::Error>,
    },
    /// The certificates that were given are none, or no pair.
    #[error("TLS cannot be spoken with {url:?}: a certificate or key that was given for it cannot be used")]
    Certificates {
        /// The address.
        url: String,
        /// What is wrong.
        #[source]
        source: tonic::transport::Error,
    },
    /// The token that was given cannot be sent.
    #[error("the token cannot be sent: a token is one word of visible ASCII characters")]
    Token,
    /// There is no tokio runtime here.
    #[error("a Deed client has to be made inside a tokio runtime, where its lease renewals run")]
    NoRuntime,
    /// The input was refused before any call.
    #[error("action {action:?} was not claimed: its input was refused")]
    Input {
        /// The action id.
        action: String,
        /// Why.
        #[source]
        source: InputError,
    },
    /// Something that every action needs was not said.
    #[error("action {action:?} was not claimed: {missing} was not said")]
    Incomplete {
        /// The action id.
        action: String,
        /// The builder's method that says it.
        missing: &'static str,
    },
    /// A call was refused or never answered.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The receipt could not be handed in; it is not lost, it is here. `calls().report(request.into_inner())` hands it
    /// in later.
    #[error("the {} receipt of action {:?} could not be handed in; keep it and report it later", receipt.name(), action_id(request))]
    ReportUndelivered {
        /// What became of the attempt.
        receipt: Receipt,
        /// The whole call, ready to be repeated.
        request: Redelivery<v1::ReportRequest>,
        /// What the last try met.
        #[source]
        source: CallError,
    },
    /// What the lookup found could not be handed in. A new lookup can replace it, unless it was the receiver's last word.
    #[error("what the lookup found ({}) could not be handed in", observation.name())]
    ObservationUndelivered {
        /// What was found.
        observation: Box<Observation>,
        /// The whole call, ready to be repeated.
        request: Redelivery<v1::VerifyRequest>,
        /// What the last try met.
        #[source]
        source: CallError,
    },
    /// The client was told to stop. What had not begun was released; a send that was under way is reported as unknown.
    #[error("the Deed client stops; nothing further is claimed or sent")]
    Stopping,
}

/// A call that got no answer, kept to be made again later. Not shown in logs: it may hold the tool's result.
#[derive(Clone, PartialEq)]
pub struct Redelivery<T>(Box<T>);

impl<T> Redelivery<T> {
    pub(crate) fn new(request: T) -> Self {
        Self(Box::new(request))
    }

    /// The call's message.
    pub fn into_inner(self) -> T {
        *self.0
    }
}

impl<T> Deref for Redelivery<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Redelivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redelivery(..)")
    }
}

/// For the message above: the key is an option on the wire.
fn action_id(request: &v1::ReportRequest) -> &str {
    request.key.as_ref().map_or("", |key| key.action_id.as_str())
}

/// What became of one call that has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It was judged to be wrong, or cannot be served; repeating it would change nothing.
    #[error("{call} was refused: {refusal}")]
    Refused {
        /// The method.
        call: &'static str,
        /// The verdict.
        refusal: Box<Refusal>,
    },
    /// It was repeated until the time was over. It may have been carried out.
    #[error("{call} got no answer in {tries} tries over {waited:?}; it may have been carried out")]
    Unanswered {
        /// The method.
        call: &'static str,
        /// How often it was sent.
        tries: u32,
        /// Over which time.
        waited: Duration,
        /// What the last try met; none where that one was cut off by its own deadline.
        #[source]
        last: Option<Box<tonic::Status>>,
    },
    /// The answer is none that this client understands: the server is newer, or is no Deed server.
    #[error("the answer to {call} cannot be understood: {problem}")]
    Unintelligible {
        /// The method.
        call: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl CallError {
    /// The ErrorInfo reason where Deed refused, e.g. `INPUT_MISMATCH`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Refused { refusal, .. } => refusal.reason.as_deref(),
            Self::Unanswered { .. } | Self::Unintelligible { .. } => None,
        }
    }

    /// The gRPC status where the call was refused.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.code),
            Self::Unanswered { .. } | Self::Unintelligible { .. } => None,
        }
    }
}

/// A verdict on a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The gRPC status.
    pub code: Code,
    /// The ErrorInfo reason; none where it was not Deed that refused, but something on the way.
    pub reason: Option<String>,
    /// For people.
    pub message: String,
    /// The ErrorInfo metadata, e.g. the malformed field's name under `field`.
    pub metadata: BTreeMap<String, String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{} ({reason})", self.message),
            None => write!(f, "{} ({:?}, not from Deed itself)", self.message, self.code),
        }
    }
}

impl Error {
    /// The ErrorInfo reason where Deed refused, e.g. `INPUT_MISMATCH`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Call(source)
            | Self::ReportUndelivered { source, .. }
            | Self::ObservationUndelivered { source, .. } => source.reason(),
            Self::Address { .. }
            | Self::PlainText { .. }
            | Self::File { .. }
            | Self::Certificates { .. }
            | Self::Token
            | Self::NoRuntime
            | Self::Input { .. }
            | Self::Incomplete { .. }
            | Self::Stopping => None,
        }
    }
}
