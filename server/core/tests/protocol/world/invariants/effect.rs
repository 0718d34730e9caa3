//! What must hold of the effect: states, finality, begins and absence. The quiet time is computed again here.

use deed_core::Protocol;
use deed_core::action::{Action, Attempt, GrantKind, State, Stop, Word};
use deed_core::command::{Ask, Decision};
use deed_core::contract::{Deduplication, EffectClass, OnPartial};
use deed_core::event::What;
use deed_core::evidence::Verdict;
use deed_core::time::{Span, Timestamp};

use super::Arrival;

pub fn states(arrival: &Arrival<'_>, after: &Action) {
    let sending = after
        .grant
        .as_ref()
        .is_some_and(|grant| grant.begun() && grant.ended.is_none());
    assert_eq!(
        after.state == State::Sent,
        sending,
        "SENT says that somebody is sending: {after:#?}"
    );
    if matches!(
        after.state,
        State::Planned | State::NotFound | State::AwaitingApproval
    ) {
        assert!(
            after.undisproved.is_empty(),
            "{:?} with an undisproved attempt",
            after.state
        );
    }
    if after.state == State::Unknown {
        assert!(after.doubt.is_some(), "UNKNOWN carries its reason");
    }
    if after.state == State::Accepted {
        assert!(after.undisproved.iter().any(|attempt| attempt.word > Word::None));
    }
    assert!(after.since <= arrival.now);
}

pub fn finality(arrival: &Arrival<'_>, after: &Action) {
    assert_eq!(
        after.state == State::Confirmed,
        after.effect.is_some(),
        "one effect exactly when CONFIRMED"
    );
    if let Some(before) = arrival.before.filter(|before| before.state == State::Confirmed) {
        assert_eq!(after.state, State::Confirmed, "CONFIRMED is never left");
        assert_eq!(after.effect, before.effect, "the effect never changes");
        assert_eq!(after.result, before.result);
    }
    let closed = |state| matches!(state, State::Rejected | State::Abandoned);
    if let Some(before) = arrival.before.filter(|before| closed(before.state)) {
        let reopened = matches!(
            arrival.command.ask,
            Ask::Decide {
                decision: Decision::Reopen { .. },
                ..
            }
        );
        assert!(after.state == before.state || after.state == State::Confirmed || reopened);
    }
}

/// A begun execution stands on nothing undisproved, unless the contract makes that harmless.
pub fn begins(arrival: &Arrival<'_>, after: &Action) {
    let begun = arrival
        .judgement
        .events
        .iter()
        .any(|event| matches!(event.what, What::Granted { begun: true, .. } | What::Begun));
    if !begun {
        return;
    }
    let grant = after.grant.as_ref().expect("who begins has a grant");
    assert!(grant.live(arrival.now) && grant.kind == GrantKind::Execute);
    assert_eq!(after.state, State::Sent);
    assert!(
        after.stop != Some(Stop::Contradiction),
        "nobody sends into a contradiction"
    );
    assert!(!after.unapproved(), "nobody sends unapproved");
    assert!(!after.absence_counted, "one absence authorises one attempt");
    let others: Vec<_> = after
        .undisproved
        .iter()
        .filter(|attempt| attempt.number != grant.attempt)
        .collect();
    let contract = &after.spec.contract;
    if others.is_empty() || contract.effect_class == EffectClass::Read {
        return;
    }
    if !grant.resumes.is_empty() {
        assert_eq!(contract.on_partial, OnPartial::Resume);
        assert!(
            arrival.before.is_some_and(|before| !before.resumed),
            "partial work is resumed once"
        );
        return;
    }
    let Deduplication::IdempotencyKey { window } = contract.deduplication else {
        panic!("a send on top of {others:?} could double")
    };
    let first = after.first_sent_at.expect("it was sent before");
    let margin = contract
        .send_timeout
        .plus(contract.settle_window())
        .plus(arrival.protocol.max_clock_step);
    assert!(grant.resend, "the sender knows that it re-sends");
    assert!(
        grant.hold_until <= first.plus(window).minus(margin),
        "a re-send ends inside the window"
    );
    assert!(
        others.iter().all(|attempt| attempt.word == Word::None),
        "never on top of what was accepted"
    );
}

/// The quiet time by rule 5, computed from the row before the step.
fn quiet_time(protocol: &Protocol, action: &Action) -> Option<Timestamp> {
    let contract = &action.spec.contract;
    let deadline = if contract.asynchronous {
        contract.effect_deadline()
    } else {
        Span::ZERO
    };
    let over = |attempt: &Attempt| match attempt.ended_at {
        Some(at) => at,
        None => attempt.lease_end.plus(contract.send_timeout),
    };
    let latest = action.undisproved.iter().map(over).max()?;
    let settled = latest.plus(deadline).plus(contract.settle_window());
    Some(settled.plus(protocol.max_clock_step))
}

pub fn absence(arrival: &Arrival<'_>, after: &Action) {
    let Some(before) = arrival.before else { return };
    let found_absent = after.state == State::NotFound && before.state != State::NotFound;
    let Ask::Verify {
        observation, token, ..
    } = &arrival.command.ask
    else {
        return;
    };
    let grant = before.grant.as_ref().filter(|grant| grant.token == *token);
    if observation.verdict == Verdict::NotFound
        && (found_absent || after.absence_counted && !before.absence_counted)
    {
        let grant = grant.expect("only the current lookup proves absence");
        assert_eq!(grant.kind, GrantKind::Verify);
        let quiet = quiet_time(arrival.protocol, before);
        assert!(
            quiet.is_none_or(|quiet| grant.granted_at >= quiet),
            "absence was believed too early"
        );
        assert!(
            before.facts_true.is_empty() && !before.completed(),
            "absence against what was seen"
        );
    }
}
