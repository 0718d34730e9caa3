//! What the core answers, as fields of text.

use deed_core::Protocol;
use deed_core::action::{Action, Attempt, Closure, Flag, Flags, State};
use deed_core::command::Ask;
use deed_core::event::{Event, What};
use deed_core::reply::{Answer, NextStep, Refusal, Reply, Settled};
use deed_core::time::Timestamp;

use crate::story::told::{Told, bytes, capitals, list, offset};

/// An answer. A renewal that finds its lease lost says the next step alone, and a decision has no claim's terms.
pub fn reply(ask: &Ask, reply: &Reply, now: Timestamp) -> Told {
    match reply {
        Reply::Renewed {
            lease_left,
            expires_at,
        } => {
            let mut told = Told::step("renewed");
            told.put_span("lease_left", *lease_left);
            told.put_time("expires_at", *expires_at);
            told
        }
        Reply::Step(answer) => {
            let mut told = next_step(&answer.step, now);
            if !matches!(ask, Ask::Renew { .. }) {
                common(&mut told, answer);
            }
            if !matches!(ask, Ask::Renew { .. } | Ask::Decide { .. }) {
                told.put("safe", answer.safe_to_retry());
                told.put("terms_differ", answer.terms_differ);
            }
            told
        }
    }
}

fn common(told: &mut Told, answer: &Answer) {
    told.put("state", capitals(answer.state));
    told.put("guarantee", capitals(answer.guarantee));
    told.put("version", answer.version.0);
    told.put("flags", flags(answer.flags));
}

fn next_step(step: &NextStep, now: Timestamp) -> Told {
    match step {
        NextStep::Execute(grant) => {
            let mut told = Told::step("execute");
            told.put("token", grant.token);
            told.put("attempt", grant.attempt);
            told.put_span("lease_left", grant.lease_left);
            told.put_time("expires_at", grant.expires_at);
            told.put_span("send_timeout", grant.send_timeout);
            told.put("outward_key", grant.outward_key.as_str());
            told.put("begun", grant.begun);
            told.put("resend", grant.resend);
            told.put_text("missing", &list(&grant.resumes));
            told
        }
        NextStep::VerifyEffect(grant) => {
            let mut told = Told::step("verify");
            told.put("token", grant.token);
            told.put_span("lease_left", grant.lease_left);
            told.put_time("expires_at", grant.expires_at);
            told.put("outward_key", grant.outward_key.as_str());
            told.put_some("ext", grant.external_id.as_ref());
            told.put("attempts", grant.attempts);
            told.put_some("first_sent_at", grant.first_sent_at.map(offset));
            told.put_text("facts", &list(&grant.facts));
            told.put_time("absence_from", grant.absence_counts_from);
            told.put("undisproved", undisproved(&grant.undisproved));
            told
        }
        NextStep::Claimable(kind) => {
            let mut told = Told::step("claimable");
            told.put("kind", capitals(*kind));
            told
        }
        NextStep::Wait { retry_after, reason } => {
            let mut told = Told::step("wait");
            told.put("reason", capitals(*reason));
            told.put_span("retry_after", *retry_after);
            told.put_time("due_at", now.plus(*retry_after));
            told
        }
        NextStep::Held {
            owner,
            lease_left,
            retry_after,
        } => {
            let mut told = Told::step("held");
            told.put("owner", owner);
            told.put_span("lease_left", *lease_left);
            told.put_span("retry_after", *retry_after);
            told
        }
        NextStep::Settled(settled) => self::settled(settled),
        NextStep::Blocked { reason, detail, .. } => {
            let mut told = Told::step("blocked");
            told.put("reason", capitals(*reason));
            told.put("detail", detail);
            told
        }
    }
}

fn settled(settled: &Settled) -> Told {
    let mut told = Told::step("settled");
    told.put("state", capitals(settled.state));
    told.put_some("effect", settled.effect.map(|effect| effect.0));
    told.put_some("basis", settled.basis.map(capitals));
    told.put_some("ext", settled.external_id.as_ref());
    told.put_some("result", settled.result.as_deref().map(bytes));
    let outcome = match &settled.closure {
        None => "EFFECT_PROVEN",
        Some(Closure::Refused | Closure::ResolvedRejected) => "REFUSED",
        Some(Closure::Denied) => "APPROVAL_DENIED",
        Some(Closure::ApprovalExpired) => "APPROVAL_EXPIRED",
        Some(Closure::Compensated { .. }) => "COMPENSATED",
        Some(Closure::Abandoned) => "EFFECT_UNKNOWN",
    };
    told.put("outcome", outcome);
    told.put_text("note", settled.reason.as_str());
    told.put_time("settled_at", settled.settled_at);
    told
}

/// A call that could not be judged, by the table of the protocol.
pub fn refusal(refusal: &Refusal) -> Told {
    match refusal {
        Refusal::ActionNotFound => Told::error("NOT_FOUND", "ACTION_NOT_FOUND"),
        Refusal::InputMismatch => Told::error("ALREADY_EXISTS", "INPUT_MISMATCH"),
        Refusal::InvalidField { field, .. } => {
            let mut told = Told::error("INVALID_ARGUMENT", "INVALID_FIELD");
            told.put("field", field);
            told
        }
        Refusal::TokenNeverIssued => {
            let mut told = Told::error("INVALID_ARGUMENT", "TOKEN_NEVER_ISSUED");
            told.put("field", "fencing_token");
            told
        }
        Refusal::NotYourGrant => Told::error("PERMISSION_DENIED", "NOT_YOUR_GRANT"),
        Refusal::RequestIdReused => {
            let mut told = Told::error("INVALID_ARGUMENT", "REQUEST_ID_REUSED");
            told.put("field", "request_id");
            told
        }
        Refusal::DecisionNotAllowed { allowed_from, .. } => {
            let mut told = Told::error("FAILED_PRECONDITION", "DECISION_NOT_ALLOWED");
            told.put_some("due_at", allowed_from.map(offset));
            told
        }
        Refusal::VersionChanged { .. } => Told::error("ABORTED", "VERSION_CHANGED"),
    }
}

/// A row as screens show it.
pub fn action(protocol: &Protocol, row: &Action, now: Timestamp) -> anyhow::Result<Told> {
    let (row, _) = protocol.look(row, now);
    let mut told = Told::default();
    told.put("state", capitals(row.state));
    told.put_time("since", row.since);
    told.put_text("reason", &reason(&row));
    told.put("guarantee", capitals(row.spec.contract.guarantee()));
    told.put("version", row.version.0);
    told.put("token", row.token);
    told.put("attempts", row.attempts);
    told.put("counted", row.attempts_counted);
    told.put("undisproved", undisproved(&row.undisproved));
    told.put("inconclusive", row.lookups.inconclusive);
    told.put("flags", flags(row.flags));
    told.put_some("ext", row.external_id.as_ref());
    told.put_some("effect", row.effect.as_ref().map(|effect| effect.evidence.0));
    told.put_some("assignee", row.assignee.as_ref());
    told.put("generation", row.key_generation + 1);
    told.put_some("first_sent_at", row.first_sent_at.map(offset));
    told.put("outward_key", row.outward_key().as_str());
    let labels = row.spec.labels.iter();
    told.put_text(
        "labels",
        &list(labels.map(|label| format!("{}:{}", label.key, label.value))),
    );
    Ok(told)
}

/// A row of history.
pub fn event(event: &Event) -> Told {
    let kind = match &event.what {
        What::Planned => "PLANNED",
        What::Granted { .. } => "GRANTED",
        What::Begun => "BEGUN",
        What::Reported { .. } => "REPORTED",
        What::Observed { .. } => "OBSERVED",
        What::Lapsed { .. } => "LAPSED",
        What::Released { .. } => "RELEASED",
        What::Fenced { .. } => "FENCED",
        What::ApprovalExpired => "APPROVAL_EXPIRED",
        What::Decided { .. } => "DECIDED",
        What::Contested { .. } => "CONTESTED",
        What::Flagged { .. } => "FLAGGED",
    };
    let mut told = Told::default();
    told.put("kind", kind);
    told.put("sequence", event.sequence);
    told.put_time("at", event.at);
    told.put_some("token", event.token);
    told.put_some("attempt", event.attempt);
    if !matches!(event.what, What::Decided { .. }) {
        told.put_some("owner", event.by.as_ref().map(|by| &by.owner));
    }
    told.put("state", capitals(event.state));
    told.put_some("request", event.request.map(|trace| trace.id.0));
    told
}

/// Why a row is as it is, where its state does not say all.
fn reason(row: &Action) -> String {
    let stop = row.stop.filter(|_| !row.state.settled());
    match (row.state, &row.closure, stop) {
        (State::Rejected | State::Abandoned, Some(closure), _) => match closure {
            Closure::Refused => "REFUSED",
            Closure::Denied => "APPROVAL_DENIED",
            Closure::ApprovalExpired => "APPROVAL_EXPIRED",
            Closure::ResolvedRejected => "RESOLVED_REJECTED",
            Closure::Abandoned => "ABANDONED",
            Closure::Compensated { .. } => "COMPENSATED",
        }
        .to_owned(),
        (_, _, Some(stop)) => capitals(stop),
        (State::Unknown, _, None) => row.doubt.map(capitals).unwrap_or_default(),
        _ => String::new(),
    }
}

fn undisproved(attempts: &[Attempt]) -> String {
    list(attempts.iter().map(|attempt| attempt.number))
}

fn flags(flags: Flags) -> String {
    list(flags.set().map(|flag| match flag {
        Flag::DuplicateSuspected => "DUPLICATE_SUSPECTED",
        Flag::Contradicted => "CONTRADICTED",
        Flag::Ungated => "UNGATED",
    }))
}
