//! The next step, with what every answer says.

use deed_core::action::{Attempt, Basis, Grant, State};
use deed_core::reply::{Answer, Execute, NextStep, Settled, VerifyEffect};
use deed_core::text::{ExternalId, FactName};
use deed_core::time::{Span, Timestamp};
use deed_proto::v1::{self, next_step::Kind};

use super::{time, word};

/// An answer to a worker call that was judged at `now` and had waited before.
pub fn answer(answer: Answer, waited: Span, now: Timestamp) -> v1::Answer {
    v1::Answer {
        safe_to_retry: answer.safe_to_retry(),
        guarantee: word::guarantee(answer.guarantee).into(),
        state: word::state(answer.state).into(),
        version: answer.version.0,
        contract_differs: answer.terms_differ,
        flags: word::flags(answer.flags),
        next_step: Some(next_step(answer, waited, now)),
    }
}

/// The next step alone.
pub fn next_step(answer: Answer, waited: Span, now: Timestamp) -> v1::NextStep {
    let guarantee = word::guarantee(answer.guarantee);
    let kind = match answer.step {
        NextStep::Execute(grant) => Kind::Execute(execute(grant, guarantee, waited)),
        NextStep::VerifyEffect(grant) => Kind::VerifyEffect(verify_effect(grant, waited)),
        NextStep::Claimable(kind) => Kind::Claimable(v1::Claimable {
            kind: word::grant_kind(kind).into(),
        }),
        NextStep::Wait { retry_after, reason } => Kind::Wait(v1::Wait {
            retry_after: Some(time::span(retry_after)),
            reason: word::wait_reason(reason).into(),
            due_at: Some(time::point(now.plus(retry_after))),
        }),
        NextStep::Held {
            owner,
            lease_left,
            retry_after,
        } => Kind::Held(v1::Held {
            owner: owner.to_string(),
            lease_left: Some(time::span(lease_left)),
            retry_after: Some(time::span(retry_after)),
        }),
        NextStep::Settled(end) => Kind::Settled(settled(end)),
        NextStep::Blocked {
            reason,
            detail,
            missing: _,
        } => Kind::Blocked(v1::Blocked {
            reason: word::blocked_reason(reason).into(),
            detail: detail.to_string(),
        }),
    };
    v1::NextStep { kind: Some(kind) }
}

fn execute(grant: Execute, guarantee: v1::Guarantee, waited: Span) -> v1::Execute {
    let resume = (!grant.resumes.is_empty()).then(|| v1::execute::Resume {
        missing_facts: names(&grant.resumes),
    });
    v1::Execute {
        fencing_token: grant.token.number(),
        attempt: grant.attempt,
        lease_left: Some(time::span(grant.lease_left)),
        lease_expires_at: Some(time::point(grant.expires_at)),
        waited: Some(time::span(waited)),
        send_timeout: Some(time::span(grant.send_timeout)),
        outward_key: grant.outward_key.as_str().to_owned(),
        guarantee: guarantee.into(),
        begun: grant.begun,
        resend: grant.resend,
        resume,
    }
}

fn verify_effect(grant: VerifyEffect, waited: Span) -> v1::VerifyEffect {
    v1::VerifyEffect {
        fencing_token: grant.token.number(),
        lease_left: Some(time::span(grant.lease_left)),
        lease_expires_at: Some(time::point(grant.expires_at)),
        waited: Some(time::span(waited)),
        outward_key: grant.outward_key.as_str().to_owned(),
        external_id: text(grant.external_id.as_ref()),
        attempts: grant.attempts,
        first_sent_at: grant.first_sent_at.map(time::point),
        facts: names(&grant.facts),
        absence_counts_from: Some(time::point(grant.absence_counts_from)),
        undisproved: grant.undisproved.iter().map(|it| attempt(it, None)).collect(),
    }
}

fn settled(end: Settled) -> v1::Settled {
    v1::Settled {
        state: word::state(end.state).into(),
        effect_id: end.effect.map(|effect| effect.0.to_string()).unwrap_or_default(),
        evidence: evidence_kind(end.state, end.basis).into(),
        external_id: text(end.external_id.as_ref()),
        result: end.result,
        settled_at: Some(time::point(end.settled_at)),
        outcome: word::outcome(end.state, end.closure.as_ref()).into(),
        note: end.reason.to_string(),
    }
}

/// Which evidence decides is a matter of the state that it led to.
fn evidence_kind(state: State, basis: Option<Basis>) -> v1::EvidenceKind {
    match (basis, state) {
        (None, _) => v1::EvidenceKind::Unspecified,
        (Some(Basis::Decision), _) => v1::EvidenceKind::Decision,
        (Some(Basis::Receipt), State::Rejected) => v1::EvidenceKind::Rejected,
        (Some(Basis::Receipt), _) => v1::EvidenceKind::Completed,
        (Some(Basis::Observation), _) => v1::EvidenceKind::Confirmed,
    }
}

/// The row keeps of an attempt what decisions need; who began it, and when, is known of the present grant, and of the
/// others in the history.
pub fn attempt(attempt: &Attempt, grant: Option<&Grant>) -> v1::Attempt {
    let own = grant.filter(|grant| grant.token == attempt.token);
    v1::Attempt {
        attempt: attempt.number,
        fencing_token: attempt.token.number(),
        owner: own
            .map(|grant| grant.holder.owner.to_string())
            .unwrap_or_default(),
        begun_at: own.and_then(|grant| grant.begun_at).map(time::point),
        lease_ended_at: Some(time::point(attempt.lease_end)),
        ended_at: attempt.ended_at.map(time::point),
        external_id: text(attempt.external_id.as_ref()),
    }
}

/// The names of facts.
pub fn names(facts: &[FactName]) -> Vec<String> {
    facts.iter().map(ToString::to_string).collect()
}

/// An external id; empty where none is known.
pub fn text(external_id: Option<&ExternalId>) -> String {
    external_id.map(ToString::to_string).unwrap_or_default()
}
