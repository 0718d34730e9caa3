//! What the server answers, as fields of text. How long a call waited is the one thing that is not the story's: it is
//! told only where it is longer than any test machine pauses, which no story allows.

use deed_core::time::Timestamp;
use deed_proto::v1::{self, next_step::Kind};
use prost_types::Duration;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::story::told::{Told, bytes, capitals, list, offset, seconds};

fn point(point: &prost_types::Timestamp) -> Timestamp {
    let micros = i128::from(point.seconds) * 1_000_000 + i128::from(point.nanos / 1_000);
    Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

fn time(told: &mut Told, field: &'static str, at: Option<&prost_types::Timestamp>) {
    told.put_some(field, at.map(point).map(offset));
}

fn span(told: &mut Told, field: &'static str, span: Option<&Duration>) {
    let micros = |span: &Duration| i128::from(span.seconds) * 1_000_000 + i128::from(span.nanos / 1_000);
    told.put_some(field, span.map(micros).map(seconds));
}

/// A wait in the database's time would be one of the story's seconds; stories that have commits wait use at least three.
fn waited(told: &mut Told, waited: Option<&Duration>) {
    span(told, "waited", waited.filter(|waited| waited.seconds >= 3));
}

/// The word of an enum, without the enum's own name in front.
fn word(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}

fn state(state: v1::State) -> String {
    word(state.as_str_name(), "STATE_")
}

fn guarantee(guarantee: v1::Guarantee) -> String {
    word(guarantee.as_str_name(), "GUARANTEE_")
}

fn flags(flags: impl Iterator<Item = v1::Flag>) -> String {
    list(flags.map(|flag| word(flag.as_str_name(), "FLAG_")))
}

fn undisproved(attempts: &[v1::Attempt]) -> String {
    list(attempts.iter().map(|attempt| attempt.attempt))
}

/// An answer to a worker call.
pub fn answer(answer: Option<&v1::Answer>) -> Told {
    let Some(answer) = answer else {
        return Told::step("no answer at all");
    };
    let mut told = next_step(answer.next_step.as_ref());
    told.put("safe", answer.safe_to_retry);
    told.put("guarantee", guarantee(answer.guarantee()));
    told.put("state", state(answer.state()));
    told.put("version", answer.version);
    told.put("terms_differ", answer.contract_differs);
    told.put("flags", flags(answer.flags()));
    told
}

/// The answer to a renewal of one lease.
pub fn renewal(answer: v1::RenewResponse) -> Told {
    use v1::renew_result::Result as Kind;
    let results = answer.results;
    match results.into_iter().next().and_then(|result| result.result) {
        None => Told::step("no answer at all"),
        Some(Kind::Renewed(renewed)) => {
            let mut told = Told::step("renewed");
            span(&mut told, "lease_left", renewed.lease_left.as_ref());
            time(&mut told, "expires_at", renewed.lease_expires_at.as_ref());
            waited(&mut told, renewed.waited.as_ref());
            told
        }
        Some(Kind::Lost(step)) => next_step(Some(&step)),
        Some(Kind::Error(error)) => {
            let mut told = Told::error(&capitals(Code::from_i32(error.code)), &error.reason);
            let field = error.metadata.iter().find(|entry| entry.key == "field");
            told.put_some("field", field.map(|field| &field.value));
            told
        }
    }
}

/// The answer to a decision.
pub fn decided(action: &v1::Action) -> Told {
    let mut told = next_step(action.next_step.as_ref());
    told.put("guarantee", guarantee(action.guarantee()));
    told.put("state", state(action.state()));
    told.put("version", action.version);
    told.put("flags", flags(action.flags()));
    told
}

fn next_step(step: Option<&v1::NextStep>) -> Told {
    match step.and_then(|step| step.kind.as_ref()) {
        None => Told::step("no step at all"),
        Some(Kind::Execute(grant)) => execute(grant),
        Some(Kind::VerifyEffect(grant)) => verify(grant),
        Some(Kind::Claimable(claimable)) => {
            let mut told = Told::step("claimable");
            told.put("kind", word(claimable.kind().as_str_name(), "GRANT_KIND_"));
            told
        }
        Some(Kind::Wait(wait)) => {
            let mut told = Told::step("wait");
            told.put("reason", word(wait.reason().as_str_name(), "WAIT_REASON_"));
            span(&mut told, "retry_after", wait.retry_after.as_ref());
            time(&mut told, "due_at", wait.due_at.as_ref());
            told
        }
        Some(Kind::Held(held)) => {
            let mut told = Told::step("held");
            told.put("owner", &held.owner);
            span(&mut told, "lease_left", held.lease_left.as_ref());
            span(&mut told, "retry_after", held.retry_after.as_ref());
            told
        }
        Some(Kind::Settled(settled)) => self::settled(settled),
        Some(Kind::Blocked(blocked)) => {
            let mut told = Told::step("blocked");
            told.put("reason", word(blocked.reason().as_str_name(), "BLOCKED_REASON_"));
            told.put("detail", &blocked.detail);
            told
        }
    }
}

fn execute(grant: &v1::Execute) -> Told {
    let mut told = Told::step("execute");
    told.put("token", grant.fencing_token);
    told.put("attempt", grant.attempt);
    span(&mut told, "lease_left", grant.lease_left.as_ref());
    time(&mut told, "expires_at", grant.lease_expires_at.as_ref());
    waited(&mut told, grant.waited.as_ref());
    span(&mut told, "send_timeout", grant.send_timeout.as_ref());
    told.put("outward_key", &grant.outward_key);
    told.put("guarantee", guarantee(grant.guarantee()));
    told.put("begun", grant.begun);
    told.put("resend", grant.resend);
    if let Some(resume) = &grant.resume {
        told.put("missing", list(&resume.missing_facts));
    }
    told
}

fn verify(grant: &v1::VerifyEffect) -> Told {
    let mut told = Told::step("verify");
    told.put("token", grant.fencing_token);
    span(&mut told, "lease_left", grant.lease_left.as_ref());
    time(&mut told, "expires_at", grant.lease_expires_at.as_ref());
    waited(&mut told, grant.waited.as_ref());
    told.put("outward_key", &grant.outward_key);
    told.put_text("ext", &grant.external_id);
    told.put("attempts", grant.attempts);
    time(&mut told, "first_sent_at", grant.first_sent_at.as_ref());
    told.put_text("facts", &list(&grant.facts));
    time(&mut told, "absence_from", grant.absence_counts_from.as_ref());
    told.put("undisproved", undisproved(&grant.undisproved));
    told
}

fn settled(settled: &v1::Settled) -> Told {
    let mut told = Told::step("settled");
    told.put("state", state(settled.state()));
    told.put_text("effect", &settled.effect_id);
    told.put_text("basis", basis(settled.evidence()));
    told.put_text("ext", &settled.external_id);
    told.put_some("result", settled.result.as_deref().map(bytes));
    told.put("outcome", word(settled.outcome().as_str_name(), "OUTCOME_"));
    told.put_text("note", &settled.note);
    time(&mut told, "settled_at", settled.settled_at.as_ref());
    told
}

/// The core knows the evidence that decided by its kind only.
fn basis(kind: v1::EvidenceKind) -> &'static str {
    use v1::EvidenceKind as Kind;
    match kind {
        Kind::Unspecified => "",
        Kind::Completed
        | Kind::Accepted
        | Kind::Rejected
        | Kind::NotApplied
        | Kind::NotSent
        | Kind::ReceiptUnknown => "RECEIPT",
        Kind::Confirmed
        | Kind::NotFound
        | Kind::Pending
        | Kind::Failed
        | Kind::Partial
        | Kind::ObservationUnknown => "OBSERVATION",
        Kind::Decision => "DECISION",
    }
}

/// A call that was not judged.
pub fn refusal(status: &Status) -> Told {
    let details = status.get_error_details();
    let info = details.error_info();
    let reason = info.map_or("no reason at all", |info| info.reason.as_str());
    let mut told = Told::error(&capitals(status.code()), reason);
    let fact = |name: &str| info.and_then(|info| info.metadata.get(name));
    told.put_some("field", fact("field"));
    let allowed_from = fact("allowed_from").and_then(|at| at.parse::<prost_types::Timestamp>().ok());
    time(&mut told, "due_at", allowed_from.as_ref());
    told
}

/// An action as a screen shows it.
pub fn action(action: &v1::Action) -> Told {
    let mut told = Told::default();
    told.put("state", state(action.state()));
    time(&mut told, "since", action.state_since.as_ref());
    told.put_text("reason", &action.reason);
    told.put("guarantee", guarantee(action.guarantee()));
    told.put("version", action.version);
    told.put("token", action.fencing_token);
    told.put("attempts", action.attempts);
    told.put("counted", action.attempts_counted);
    told.put("undisproved", undisproved(&action.undisproved));
    told.put("inconclusive", action.lookups_inconclusive);
    told.put("flags", flags(action.flags()));
    told.put_text("ext", &action.external_id);
    told.put_text("effect", &action.effect_id);
    told.put_text("assignee", &action.assignee);
    told.put("generation", action.key_generation);
    time(&mut told, "first_sent_at", action.first_sent_at.as_ref());
    told.put("outward_key", &action.outward_key);
    let labels = action.labels.iter();
    told.put_text(
        "labels",
        &list(labels.map(|label| format!("{}:{}", label.key, label.value))),
    );
    told
}

/// A row of history.
pub fn event(event: &v1::Event) -> Told {
    let mut told = Told::default();
    told.put("kind", word(event.kind().as_str_name(), "EVENT_KIND_"));
    told.put("sequence", event.sequence);
    time(&mut told, "at", event.at.as_ref());
    told.put_some("token", (event.fencing_token > 0).then_some(event.fencing_token));
    told.put_some("attempt", (event.attempt > 0).then_some(event.attempt));
    told.put_text("owner", &event.owner);
    told.put("state", state(event.state()));
    told.put_text("request", &event.request_id);
    told
}
