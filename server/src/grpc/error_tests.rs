//! Every row of the table.

use std::time::Duration;

use deed_core::id::Version;
use deed_core::time::Timestamp;
use tonic_types::StatusExt as _;

use super::*;

/// A failure with the code, the reason and the metadata that it is told with.
type Entry = (
    Failure,
    Code,
    &'static str,
    &'static [(&'static str, &'static str)],
);

fn table() -> Vec<Entry> {
    use crate::service::Error;
    let retry_after = Duration::from_millis(250);
    let invalid = Invalid {
        field: "owner".to_owned(),
        reason: "is required".to_owned(),
    };
    let at = Timestamp::from_micros(1_800_000_000_000_000);
    let refused = |allowed_from| Refusal::DecisionNotAllowed {
        why: "not before the quiet time".to_owned(),
        allowed_from,
    };
    let odd = Refusal::InvalidField {
        field: "observation.facts",
        reason: "contradict the verdict".to_owned(),
    };
    let changed = Refusal::VersionChanged {
        seen: Version(3),
        current: Version(4),
    };
    let away = Error::StoreUnavailable {
        why: "gone".to_owned(),
        retry_after,
    };
    vec![
        (
            invalid.into(),
            Code::InvalidArgument,
            "INVALID_FIELD",
            &[("field", "owner")],
        ),
        (
            odd.into(),
            Code::InvalidArgument,
            "INVALID_FIELD",
            &[("field", "observation.facts")],
        ),
        (
            Refusal::InputMismatch.into(),
            Code::AlreadyExists,
            "INPUT_MISMATCH",
            &[],
        ),
        (
            Refusal::ActionNotFound.into(),
            Code::NotFound,
            "ACTION_NOT_FOUND",
            &[],
        ),
        (
            Failure::ExternalIdUnknown,
            Code::NotFound,
            "ACTION_NOT_FOUND",
            &[],
        ),
        (
            Refusal::TokenNeverIssued.into(),
            Code::InvalidArgument,
            "TOKEN_NEVER_ISSUED",
            &[("field", "fencing_token")],
        ),
        (
            Refusal::NotYourGrant.into(),
            Code::PermissionDenied,
            "NOT_YOUR_GRANT",
            &[],
        ),
        (
            Refusal::RequestIdReused.into(),
            Code::InvalidArgument,
            "REQUEST_ID_REUSED",
            &[("field", "request_id")],
        ),
        (
            refused(None).into(),
            Code::FailedPrecondition,
            "DECISION_NOT_ALLOWED",
            &[],
        ),
        (
            refused(Some(at)).into(),
            Code::FailedPrecondition,
            "DECISION_NOT_ALLOWED",
            &[("allowed_from", "2027-01-15T08:00:00Z")],
        ),
        (
            changed.into(),
            Code::Aborted,
            "VERSION_CHANGED",
            &[("seen", "3"), ("current", "4")],
        ),
        (
            Error::Overloaded { retry_after }.into(),
            Code::ResourceExhausted,
            "OVERLOADED",
            &[],
        ),
        (away.into(), Code::Unavailable, "STORE_UNAVAILABLE", &[]),
        (
            Error::ShuttingDown.into(),
            Code::Unavailable,
            "SHUTTING_DOWN",
            &[],
        ),
        (
            Error::DeadlineExceeded.into(),
            Code::DeadlineExceeded,
            "DEADLINE_EXCEEDED",
            &[],
        ),
        (
            Failure::NotServed { call: "Session" },
            Code::Unimplemented,
            "CALL_NOT_SERVED",
            &[("call", "Session")],
        ),
    ]
}

#[test]
fn every_error_has_its_code_its_reason_and_its_facts() {
    for (failure, code, reason, metadata) in table() {
        let status = Status::from(failure);
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!((status.code(), info.reason.as_str()), (code, reason));
        assert_eq!(info.domain, DOMAIN);
        let expected: HashMap<String, String> = metadata
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(info.metadata, expected, "{reason}");
        assert_eq!(
            status.get_error_details_vec().len(),
            wanted_details(code, &expected),
            "{reason}"
        );
    }
}

/// One ErrorInfo; a violation where a field is to blame; a time where trying again helps.
fn wanted_details(code: Code, metadata: &HashMap<String, String>) -> usize {
    let violation = usize::from(metadata.contains_key("field"));
    let retry = usize::from(matches!(code, Code::Unavailable | Code::ResourceExhausted));
    1 + violation + retry
}

#[test]
fn an_entry_of_a_call_is_told_what_the_call_would_have_been() {
    for (failure, code, reason, metadata) in table() {
        let retried = matches!(code, Code::Unavailable | Code::ResourceExhausted);
        let entry = v1::EntryError::from(failure.told());
        assert_eq!((entry.code, entry.reason.as_str()), (i32::from(code), reason));
        assert_eq!(entry.metadata.len(), metadata.len());
        assert_eq!(entry.retry_after.is_some(), retried, "{reason}");
    }
}

#[test]
fn a_mismatch_discloses_nothing_of_the_stored_action() {
    let status = Status::from(Failure::from(Refusal::InputMismatch));
    assert_eq!(
        status.message(),
        "the action id is taken by another tool or another input"
    );
}
