//! Duplicates, by the receivers' ledgers; and the one excuse that there is: under `SERIALIZED`, a send that outlived lease,
//! send timeout and settle window, and only of that action.

use super::super::fleet::{CLOCK_STEP, Fleet, SEND_TIMEOUT, SETTLE_WINDOW};
use super::super::record::{Effect, Event, Record};
use super::{Attempt, Tally, attempts};

/// What a failure says of a duplicate.
pub const DOUBLED: &str = "was doubled";

/// Counts the effects of one action.
pub fn count(record: &Record, fleet: Fleet, action: &str, tally: &mut Tally, failures: &mut Vec<String>) {
    let effects = record.effects.get(action).map(Vec::as_slice).unwrap_or_default();
    tally.effects += effects.len();
    if !fleet.guarded() {
        tally.sends += effects.len();
        tally.duplicates += effects.len().saturating_sub(1);
        return;
    }
    let attempts = attempts(record.events(action));
    let mut effects = effects.to_vec();
    effects.sort_by_key(|effect| effect.token);
    let late = |effect: &Effect| {
        let attempt = effect.token.and_then(|token| attempts.get(&token));
        attempt.is_some_and(|attempt| effect.visible_at_ms > quiet_ms(attempt))
    };
    tally.outlived += effects.iter().filter(|effect| late(effect)).count();
    for pair in effects.windows(2) {
        tally.duplicates += 1;
        // The earlier attempt's effect came after everybody had reason to believe that it would not.
        if fleet == Fleet::Serialized && pair[0].token != pair[1].token && late(&pair[0]) {
            tally.excused += 1;
        } else {
            failures.push(format!(
                "{action} {DOUBLED}: {} effects, under tokens {:?}; {}",
                effects.len(),
                effects.iter().map(|effect| effect.token).collect::<Vec<_>>(),
                told(record.events(action)),
            ));
        }
    }
    if fleet.looks_up() {
        too_early(action, record.events(action), failures);
    }
}

/// An absence that counted has to have been looked up when every attempt before it was over.
fn too_early(action: &str, events: &[Event], failures: &mut Vec<String>) {
    let attempts = attempts(events);
    let absences = events.iter().filter(|event| {
        event.kind == "OBSERVED" && event.counted && event.evidence.as_deref() == Some("NOT_FOUND")
    });
    for absence in absences {
        let grant = events
            .iter()
            .find(|event| event.kind == "GRANTED" && event.token == absence.token);
        let (Some(token), Some(grant)) = (absence.token, grant) else {
            failures.push(format!(
                "{action}: an absence counted that nobody was asked to look for"
            ));
            continue;
        };
        for (sent, attempt) in attempts.range(..token) {
            if !attempt.disproved && grant.at_ms < quiet_ms(attempt) {
                failures.push(format!(
                    "{action}: the absence under token {token} counted {} ms too early for attempt {sent}; {}",
                    quiet_ms(attempt) - grant.at_ms,
                    told(events),
                ));
            }
        }
    }
}

/// The earliest time from which the absence of this attempt's effect may be believed.
// SUBTLE: the earlier of the two ends. Which one the service takes is its rule; a later one would blame it for nothing.
fn quiet_ms(attempt: &Attempt) -> i64 {
    let ms = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let by_lease = attempt.lease_end_ms + ms(SEND_TIMEOUT);
    let end = attempt.ended_ms.map_or(by_lease, |ended| ended.min(by_lease));
    end + ms(SETTLE_WINDOW) + ms(CLOCK_STEP)
}

/// A history in one line.
fn told(events: &[Event]) -> String {
    let each = events.iter().map(|event| {
        let what = event
            .evidence
            .as_deref()
            .or(event.grant.as_deref())
            .unwrap_or_default();
        let token = event.token.map(|token| token.to_string()).unwrap_or_default();
        format!("{} {} {what} {token} -> {}", event.at_ms, event.kind, event.state)
    });
    format!("its history: {}", each.collect::<Vec<_>>().join(" | "))
}
