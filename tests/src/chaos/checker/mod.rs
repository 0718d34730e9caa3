//! What must hold after the storm, and what the run was worth.
//!
//! Owns the judgement. It believes the receivers' ledgers, what workers logged before they went on, and that Deed's
//! history is what it is; it knows nothing of how the faults came about.

mod effects;
mod evidence;
mod order;
mod worth;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::fleet::Fleet;
use super::record::{Event, Record};

pub use worth::longest_outage_ms;

/// What one fleet came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub actions: usize,
    /// Calls that history remembers.
    pub calls: usize,
    pub sends: usize,
    /// Of those, the ones that had lost their lease when they were to start.
    pub overdue: usize,
    pub effects: usize,
    /// Effects after the first of their action.
    pub duplicates: usize,
    /// Of those, the ones before which a send outlived lease, send timeout and settle window.
    pub excused: usize,
    /// Effects that became visible after that time, doubled or not.
    pub outlived: usize,
    /// Acknowledged evidence that is gone, and effects that are believed but not there.
    pub lost: usize,
    pub undecided: usize,
}

/// The whole judgement.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub fleets: BTreeMap<Fleet, Tally>,
    /// What must not be; empty after a success.
    pub failures: Vec<String>,
    /// One line for each kind of undecided action.
    pub undecided: BTreeMap<String, usize>,
}

/// Judges a run in which every kind of fault had to be injected at least `floor` times.
pub fn check(record: &Record, floor: usize) -> Verdict {
    let mut verdict = Verdict::default();
    for fleet in Fleet::ALL {
        let mut tally = Tally::default();
        for action in record.taken_up(fleet) {
            tally.actions += 1;
            effects::count(record, fleet, action, &mut tally, &mut verdict.failures);
            if fleet.guarded() {
                tally.calls += record.events(action).iter().filter(|event| event.called).count();
                order::check(action, record.events(action), &mut verdict.failures);
                evidence::check(record, action, &mut tally, &mut verdict);
            }
        }
        verdict.fleets.insert(fleet, tally);
    }
    evidence::check_logs(record, &mut verdict);
    worth::check(record, floor, &mut verdict);
    // What people look for first; only so many are shown.
    verdict
        .failures
        .sort_by_key(|failure| !failure.contains(effects::DOUBLED));
    verdict
}

/// The attempts of a history by their token: what each says about its end.
#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    /// The latest lease end that its holder was told.
    lease_end_ms: i64,
    /// When its holder reported the send as over.
    ended_ms: Option<i64>,
    /// Its holder proved that it left nothing.
    disproved: bool,
}

fn attempts(events: &[Event]) -> BTreeMap<u64, Attempt> {
    let mut attempts: BTreeMap<u64, Attempt> = BTreeMap::new();
    for event in events {
        let Some(token) = event.token else { continue };
        if event.executes() {
            attempts.entry(token).or_default();
        }
        let Some(attempt) = attempts.get_mut(&token) else {
            continue;
        };
        attempt.lease_end_ms = attempt.lease_end_ms.max(event.expires_at_ms.unwrap_or_default());
        if event.kind == "REPORTED" {
            let proof = matches!(
                event.evidence.as_deref(),
                Some("NOT_SENT" | "NOT_APPLIED" | "REJECTED")
            );
            attempt.disproved |= proof;
            if event.ended {
                attempt.ended_ms = Some(event.at_ms);
            }
        }
    }
    attempts
}
