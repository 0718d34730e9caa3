//! History: one message for every event.

use std::collections::HashMap;

use deed_core::action::GrantKind;
use deed_core::command::{Decision, Resolution};
use deed_core::event::{Event, What};
use deed_core::id::{ActionKey, Token};
use deed_core::text::Note;
use deed_proto::v1::{self, EventKind, event::Detail};

use super::{evidence, step, time, word};

/// What the service made of evidence that moved nothing.
const KEPT: &str = "kept as evidence; it did not move the state";

/// What the service made of a receipt under a token that was not the current grant's.
const LATE: &str = "came under a token that was not the current grant's";

/// Tells events in their order; remembers what each token allowed, so that the end of a grant can say what ended.
#[derive(Debug, Default)]
pub struct Teller {
    kinds: HashMap<Token, GrantKind>,
}

impl Teller {
    /// One event.
    pub fn event(&mut self, key: &ActionKey, event: Event) -> v1::Event {
        let mut told = v1::Event {
            key: Some(super::action::key(key)),
            sequence: event.sequence.into(),
            at: Some(time::point(event.at)),
            fencing_token: event.token.map(Token::number).unwrap_or_default(),
            attempt: event.attempt.unwrap_or_default(),
            request_id: event
                .request
                .map(|trace| trace.id.0.to_string())
                .unwrap_or_default(),
            state: word::state(event.state).into(),
            ..v1::Event::default()
        };
        if let Some(by) = &event.by {
            told.owner = by.owner.to_string();
            told.principal = by.principal.to_string();
        }
        if let (What::Granted { kind, .. }, Some(token)) = (&event.what, event.token) {
            self.kinds.insert(token, *kind);
        }
        let grant = event.token.and_then(|token| self.kinds.get(&token)).copied();
        fill(&mut told, event.what, grant);
        told
    }
}

fn fill(told: &mut v1::Event, what: What, grant: Option<GrantKind>) {
    match what {
        What::Planned => told.set_kind(EventKind::Planned),
        What::Granted { kind, expires_at, .. } => {
            told.set_kind(EventKind::Granted);
            told.set_grant(word::grant_kind(kind));
            told.lease_expires_at = Some(time::point(expires_at));
        }
        What::Begun => told.set_kind(EventKind::Begun),
        What::Reported { receipt, late } => {
            told.set_kind(EventKind::Reported);
            told.evidence_id.clone_from(&told.request_id);
            told.detail = Some(Detail::Receipt(evidence::receipt(receipt)));
            told.note = if late { LATE.to_owned() } else { String::new() };
        }
        What::Observed { observation, counted } => {
            told.set_kind(EventKind::Observed);
            told.evidence_id.clone_from(&told.request_id);
            told.detail = Some(Detail::Observation(evidence::observation(observation)));
            told.note = if counted { String::new() } else { KEPT.to_owned() };
        }
        What::Lapsed { expires_at } => ended(told, EventKind::Lapsed, grant, expires_at),
        What::Released { expires_at } => ended(told, EventKind::Released, grant, expires_at),
        What::Fenced { expires_at } => ended(told, EventKind::Fenced, grant, expires_at),
        What::ApprovalExpired => told.set_kind(EventKind::ApprovalExpired),
        What::Decided { decision, note } => {
            told.set_kind(EventKind::Decided);
            told.evidence_id.clone_from(&told.request_id);
            // An operator is its principal; the owner's name is the same and would look like a worker's.
            told.owner.clear();
            told.detail = Some(Detail::Decision(self::decision(decision)));
            told.note = note.to_string();
        }
        What::Contested { by, external_id } => {
            told.set_kind(EventKind::Contested);
            told.note = format!("the action {by} names the same effect: external id {external_id}");
        }
        What::Flagged { flag } => {
            told.set_kind(EventKind::Flagged);
            told.set_flag(word::flag(flag));
        }
    }
}

fn ended(
    told: &mut v1::Event,
    kind: EventKind,
    grant: Option<GrantKind>,
    expires_at: deed_core::time::Timestamp,
) {
    told.set_kind(kind);
    told.grant = grant.map_or(v1::GrantKind::Unspecified, word::grant_kind).into();
    told.lease_expires_at = Some(time::point(expires_at));
}

fn decision(decision: Decision) -> v1::Decision {
    use v1::DecisionKind as Kind;
    let mut told = v1::Decision::default();
    match decision {
        Decision::Approve { input: _ } => told.set_kind(Kind::Approved),
        Decision::Deny => told.set_kind(Kind::Denied),
        Decision::Assign { assignee } => {
            told.set_kind(Kind::Assigned);
            told.assignee = assignee.map(|name| name.to_string()).unwrap_or_default();
        }
        Decision::Resolve { resolution, proof } => {
            let kind = match resolution {
                Resolution::Confirmed { external_id } => {
                    told.external_id = step::text(external_id.as_ref());
                    Kind::ResolvedConfirmed
                }
                Resolution::Absent => Kind::ResolvedAbsent,
                Resolution::Rejected => Kind::ResolvedRejected,
                Resolution::Compensated { by } => {
                    told.compensating_action = by.to_string();
                    Kind::ResolvedCompensated
                }
                Resolution::Abandoned => Kind::ResolvedAbandoned,
            };
            told.set_kind(kind);
            told.proof_reference = written(proof);
        }
        Decision::Reopen { new_key, proof } => {
            told.set_kind(Kind::Reopened);
            told.new_key = new_key;
            told.proof_reference = written(proof);
        }
        Decision::Acknowledge { flag } => {
            told.set_kind(Kind::Acknowledged);
            told.set_flag(word::flag(flag));
        }
    }
    told
}

fn written(proof: Option<Note>) -> String {
    proof.map(|proof| proof.to_string()).unwrap_or_default()
}
