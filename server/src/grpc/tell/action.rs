//! One action as it stands: the stored row, seen at the database's time.

use deed_core::Protocol;
use deed_core::action::{Action, Approval, Ended, Grant, State};
use deed_core::contract::ApprovalNeed;
use deed_core::evidence::Seen;
use deed_core::id::ActionKey;
use deed_core::reply::{Answer, NextStep};
use deed_core::time::{Span, Timestamp};
use deed_proto::v1;

use super::{contract, evidence, step, time, word};

/// How much of an action is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Everything.
    Whole,
    /// All but the stored result: lists would be too large with it.
    Listed,
}

/// The view of a row at `now`. What time has decided shows, though nobody has written it down yet; the version stays the
/// stored one, since that is what a decision refers to.
pub fn action(protocol: &Protocol, stored: &Action, now: Timestamp, extent: Extent) -> v1::Action {
    let (seen, answer) = protocol.look(stored, now);
    let spec = &seen.spec;
    v1::Action {
        key: Some(key(&seen.key)),
        tool: spec.tool.to_string(),
        input_hash: Some(contract::input_hash(&spec.input)),
        expected_effect: Some(contract::expected(&spec.expected)),
        contract: Some(contract::contract(&spec.contract)),
        labels: contract::labels(&spec.labels),
        state: word::state(seen.state).into(),
        state_since: Some(time::point(seen.since)),
        reason: reason(&seen).to_owned(),
        reason_detail: seen.reason.to_string(),
        guarantee: word::guarantee(answer.guarantee).into(),
        version: stored.version.0,
        fencing_token: seen.token.number(),
        lease: seen.grant.as_ref().and_then(|grant| lease(grant, now)),
        attempts: seen.attempts,
        attempts_counted: seen.attempts_counted,
        undisproved: seen
            .undisproved
            .iter()
            .map(|it| step::attempt(it, seen.grant.as_ref()))
            .collect(),
        lookups: seen.lookups.granted,
        lookups_inconclusive: seen.lookups.inconclusive,
        last_lookup_at: seen.lookups.last_at.map(time::point),
        next_step: Some(next_step(answer, now, extent)),
        assignee: seen
            .assignee
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        flags: word::flags(seen.flags),
        created_at: Some(time::point(seen.created_at)),
        external_id: step::text(seen.external_id.as_ref()),
        effect_id: seen
            .effect
            .as_ref()
            .map(|effect| effect.evidence.0.to_string())
            .unwrap_or_default(),
        approval: Some(approval(&seen)),
        // The core counts re-openings, people count keys.
        key_generation: seen.key_generation.saturating_add(1),
        first_sent_at: seen.first_sent_at.map(time::point),
        outward_key: seen.outward_key().as_str().to_owned(),
        absence_counts_from: (!seen.undisproved.is_empty()).then(|| time::point(protocol.quiet_time(&seen))),
        facts: facts(&seen),
    }
}

/// The name of an action.
pub fn key(key: &ActionKey) -> v1::ActionKey {
    v1::ActionKey {
        namespace: key.namespace.to_string(),
        action_id: key.action_id.to_string(),
    }
}

fn reason(action: &Action) -> &'static str {
    match (action.state, action.stop, action.doubt, &action.closure) {
        (State::Rejected | State::Abandoned, _, _, Some(closure)) => word::closure(closure),
        (state, Some(stop), _, _) if !state.settled() => word::stop(stop),
        (State::Unknown, None, Some(doubt), _) => word::doubt(doubt),
        _ => "",
    }
}

fn lease(grant: &Grant, now: Timestamp) -> Option<v1::Lease> {
    match grant.ended {
        None | Some(Ended::Lapsed) => Some(v1::Lease {
            owner: grant.holder.owner.to_string(),
            principal: grant.holder.principal.to_string(),
            kind: word::grant_kind(grant.kind).into(),
            granted_at: Some(time::point(grant.granted_at)),
            expires_at: Some(time::point(grant.expires_at)),
            left: Some(time::span(grant.expires_at.since(now))),
            begun: grant.begun(),
        }),
        Some(Ended::Evidence | Ended::Released | Ended::Fenced) => None,
    }
}

fn next_step(mut answer: Answer, now: Timestamp, extent: Extent) -> v1::NextStep {
    if let (Extent::Listed, NextStep::Settled(end)) = (extent, &mut answer.step) {
        end.result = None;
    }
    step::next_step(answer, Span::ZERO, now)
}

fn approval(action: &Action) -> v1::ApprovalInfo {
    let mut info = v1::ApprovalInfo {
        approval: contract::approval(action.spec.contract.approval).into(),
        ..v1::ApprovalInfo::default()
    };
    match &action.approval {
        Approval::NotRequired => info.approval = contract::approval(ApprovalNeed::None).into(),
        Approval::Pending { expires_at } => info.expires_at = Some(time::point(*expires_at)),
        Approval::Given { at, by } => {
            info.approved_at = Some(time::point(*at));
            info.approved_by = by.to_string();
        }
    }
    info
}

fn facts(action: &Action) -> Vec<v1::FactSeen> {
    let declared = action.spec.expected.facts.iter();
    let told = declared.map(|fact| {
        let how = if action.facts_true.contains(fact) {
            Seen::True
        } else if action.facts_missing.contains(fact) {
            Seen::False
        } else {
            Seen::NotSeen
        };
        evidence::fact_seen(fact.as_str(), how)
    });
    told.collect()
}
