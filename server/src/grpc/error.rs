//! The one table from what went wrong to what a caller is told.
//!
//! Every error carries exactly one `google.rpc.ErrorInfo` of the domain `deed`, whose reason programs act on; the
//! message is for people. Nothing here is `INTERNAL`: what a caller can cause has a name, and what it cannot cause is
//! `UNAVAILABLE` until it is mended.

use std::collections::HashMap;
use std::time::Duration;

use deed_core::reply::Refusal;
use deed_proto::v1;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::parse::Invalid;
use super::tell::time;
use crate::auth;
use crate::service;

/// The domain of every ErrorInfo.
pub const DOMAIN: &str = "deed";

/// Why a call was not answered.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The message cannot be understood.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It was not judged, or was refused.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// The caller is not let in, or may not do this.
    #[error(transparent)]
    Auth(#[from] auth::Error),
    /// This server does not serve the call yet.
    #[error("{call} is not served by this server; the other calls are")]
    NotServed {
        /// Its name.
        call: &'static str,
    },
    /// The external id names no action.
    #[error("no action of this namespace and tool is known by this external id; observe it by its key")]
    ExternalIdUnknown,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Service(refusal.into())
    }
}

/// What a caller is told, before it takes the form of a status or of an entry's error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// The gRPC code.
    pub code: Code,
    /// The ErrorInfo reason.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The ErrorInfo metadata.
    pub metadata: Vec<(&'static str, String)>,
    /// RetryInfo.
    pub retry_after: Option<Duration>,
}

impl Told {
    /// An error without further facts.
    pub fn new(code: Code, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            metadata: Vec::new(),
            retry_after: None,
        }
    }

    fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.metadata.push((key, value.to_string()));
        self
    }

    fn retry(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// A malformed field.
    pub fn field(field: &str, message: String) -> Self {
        Self::new(Code::InvalidArgument, "INVALID_FIELD", message).with("field", field)
    }

    /// A request that is larger than the server takes.
    pub fn too_large(limit: usize) -> Self {
        let message =
            format!("the message is larger than {limit} bytes; send a smaller one on the same connection");
        Self::new(Code::InvalidArgument, "MESSAGE_TOO_LARGE", message).with("limit_bytes", limit)
    }

    /// A request that is no message of the call.
    pub fn malformed(message: String) -> Self {
        Self::new(Code::InvalidArgument, "MALFORMED_MESSAGE", message)
    }

    /// A deadline that passed.
    pub fn too_late() -> Self {
        Failure::from(service::Error::DeadlineExceeded).told()
    }
}

impl Failure {
    /// The table.
    pub fn told(&self) -> Told {
        let message = self.to_string();
        match self {
            Self::Invalid(invalid) => Told::field(&invalid.field, message),
            Self::NotServed { call } => {
                Told::new(Code::Unimplemented, "CALL_NOT_SERVED", message).with("call", call)
            }
            Self::ExternalIdUnknown => Told::new(Code::NotFound, "ACTION_NOT_FOUND", message),
            Self::Service(error) => of_service(error, message),
            Self::Auth(error) => of_auth(*error, message),
        }
    }
}

fn of_auth(error: auth::Error, message: String) -> Told {
    use auth::Error;
    match error {
        Error::CredentialsMissing => Told::new(Code::Unauthenticated, "CREDENTIALS_MISSING", message),
        Error::CredentialsRefused => Told::new(Code::Unauthenticated, "CREDENTIALS_REFUSED", message),
        Error::RoleMissing { .. } => Told::new(Code::PermissionDenied, "ROLE_MISSING", message),
    }
}

fn of_service(error: &service::Error, message: String) -> Told {
    use service::Error;
    match error {
        Error::Refused(refusal) => of_refusal(refusal, message),
        Error::Overloaded { retry_after } => {
            Told::new(Code::ResourceExhausted, "OVERLOADED", message).retry(*retry_after)
        }
        Error::StoreUnavailable { retry_after, .. } => {
            Told::new(Code::Unavailable, "STORE_UNAVAILABLE", message).retry(*retry_after)
        }
        Error::DeadlineExceeded => Told::new(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", message),
        Error::ShuttingDown => Told::new(Code::Unavailable, "SHUTTING_DOWN", message).retry(ELSEWHERE),
    }
}

/// How soon to try another replica: at once, but not in a tight loop where there is none.
const ELSEWHERE: Duration = Duration::from_millis(100);

fn of_refusal(refusal: &Refusal, message: String) -> Told {
    match refusal {
        Refusal::ActionNotFound => Told::new(Code::NotFound, "ACTION_NOT_FOUND", message),
        Refusal::InputMismatch => Told::new(Code::AlreadyExists, "INPUT_MISMATCH", message),
        Refusal::InvalidField { field, reason } => Told::field(field, format!("{field} {reason}")),
        Refusal::TokenNeverIssued => {
            Told::new(Code::InvalidArgument, "TOKEN_NEVER_ISSUED", message).with("field", "fencing_token")
        }
        Refusal::NotYourGrant => Told::new(Code::PermissionDenied, "NOT_YOUR_GRANT", message),
        Refusal::RequestIdReused => {
            Told::new(Code::InvalidArgument, "REQUEST_ID_REUSED", message).with("field", "request_id")
        }
        Refusal::DecisionNotAllowed { allowed_from, .. } => {
            let told = Told::new(Code::FailedPrecondition, "DECISION_NOT_ALLOWED", message);
            match allowed_from {
                Some(at) => told.with("allowed_from", time::point(*at)),
                None => told,
            }
        }
        Refusal::VersionChanged { seen, current } => Told::new(Code::Aborted, "VERSION_CHANGED", message)
            .with("seen", seen.0)
            .with("current", current.0),
    }
}

impl From<Told> for Status {
    fn from(told: Told) -> Self {
        // Without the message, which may quote the caller: a log is no place for what it sent (B56).
        tracing::debug!(error.code = ?told.code, error.reason = told.reason, "refused");
        let violated = match told.metadata.first() {
            Some(("field", field)) => Some(field.clone()),
            _ => None,
        };
        let metadata: HashMap<String, String> = told
            .metadata
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let mut details = ErrorDetails::with_error_info(told.reason, DOMAIN, metadata);
        if let Some(field) = violated {
            details.add_bad_request_violation(field, told.message.clone());
        }
        if told.retry_after.is_some() {
            details.set_retry_info(told.retry_after);
        }
        Self::with_error_details(told.code, told.message, details)
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        failure.told().into()
    }
}

impl From<Told> for v1::EntryError {
    fn from(told: Told) -> Self {
        let label = |(key, value): (&str, String)| v1::Label {
            key: key.to_owned(),
            value,
        };
        Self {
            code: i32::from(told.code),
            reason: told.reason.to_owned(),
            message: told.message,
            metadata: told.metadata.into_iter().map(label).collect(),
            retry_after: told.retry_after.map(time::length),
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
