//! An honest adapter between `deed-client` and the receiver: what the receiver answered, as a receipt or an observation.
//!
//! It knows what the tests' receiver means by its answers and flatters nothing. Which action it is about is the test's.

use std::time::Duration;

use deed_client::{CallError, Error, Lookup, Observation, Receipt};

use crate::receiver::{
    Applied, Call, EffectRequest, FencingToken, JobStatus, LookupAnswer, LookupRequest, ReceiverClient, Seen,
};

/// A job that is under way is asked about again after this.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Whether Deed was not there. Nothing is wrong then, and what is known is asked again.
pub fn unanswered(error: &Error) -> bool {
    let source = match error {
        Error::Call(source)
        | Error::ReportUndelivered { source, .. }
        | Error::ObservationUndelivered { source, .. } => source,
        _ => return false,
    };
    matches!(source, CallError::Unanswered { .. })
}

/// One send, and what is honestly known after it.
pub async fn send(client: &ReceiverClient, request: &EffectRequest) -> Receipt {
    match client.apply(request).await {
        Call::NotSent { reason } => Receipt::not_connected(reason),
        // The call has returned: what was sent of it was sent by now.
        Call::Unknown { detail, .. } => Receipt::unknown(detail).ended(),
        Call::Answered(Applied::Done {
            external_id, applied, ..
        }) => {
            let result = format!("applied {}", applied.join(", "));
            Receipt::completed(external_id).with_result(result)
        }
        Call::Answered(Applied::Accepted {
            external_id,
            retry_after,
            ..
        }) => Receipt::accepted(external_id, retry_after),
        Call::Answered(Applied::NotNow {
            retry_after, error, ..
        }) => Receipt::not_applied(retry_after, error.message),
        // SUBTLE: refused is the token, not the effect. A *rejected* would be final, and whoever holds the newer token may
        // still bring the effect about.
        Call::Answered(Applied::Refused { error, .. }) if error.code == "stale_token" => {
            Receipt::not_applied(Duration::ZERO, error.message)
        }
        Call::Answered(Applied::Refused { error, .. }) => Receipt::rejected(error.message),
        Call::Answered(Applied::KeyInProgress) => Receipt::unknown("an earlier request is under way").ended(),
        Call::Answered(Applied::Failed { error, .. }) => Receipt::unknown(error.message).ended(),
    }
}

/// One look at what the receiver shows for this business id.
pub async fn look_up(client: &ReceiverClient, business_id: &str, lookup: &Lookup) -> Observation {
    let request = LookupRequest {
        business_id: business_id.to_owned(),
        facts: Some(lookup.facts().join(",")),
        fencing_token: Some(FencingToken(lookup.token().number())),
        ..LookupRequest::default()
    };
    match client.look_up(&request).await {
        Call::Answered(Seen::Found(seen)) => observed(&seen, lookup),
        Call::Answered(Seen::Refused { error, .. }) => Observation::unknown(error.message),
        Call::NotSent { reason } => Observation::unknown(reason),
        Call::Unknown { detail, .. } => Observation::unknown(detail),
    }
}

fn observed(seen: &LookupAnswer, lookup: &Lookup) -> Observation {
    let latest = seen.jobs.last();
    match (seen.effects.first(), latest.map(|job| job.status)) {
        (None, Some(JobStatus::Queued | JobStatus::Pending)) => Observation::pending(ASK_AGAIN),
        (None, Some(JobStatus::Failed)) => {
            let external_id = latest.map(|job| job.external_id.as_str()).unwrap_or_default();
            Observation::failed(external_id, "the job has failed")
        }
        (effect, _) if !lookup.facts().is_empty() => {
            let external_id = effect.map(|effect| effect.external_id.as_str());
            let facts = seen.facts.iter().map(|(name, holds)| (name.as_str(), *holds));
            lookup.judge(external_id.unwrap_or_default(), facts)
        }
        (Some(effect), _) => Observation::confirmed(&effect.external_id),
        (None, Some(JobStatus::Done) | None) => Observation::not_found(),
    }
}
