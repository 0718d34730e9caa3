//! The test of the test: each thing that must not be, planted in a record that is sound.

use std::time::Duration;

use super::super::fleet::{CLOCK_STEP, Fleet, LEASE, SEND_TIMEOUT, SETTLE_WINDOW};
use super::super::log::{End, Line};
use super::super::nemesis::{Diary, Fault};
use super::super::record::{Effect, Event, Record, Standing};
use super::{Verdict, check, longest_outage_ms};

const FLOOR: usize = 10;

fn ms(duration: Duration) -> i64 {
    duration.as_millis().try_into().unwrap()
}

fn event(sequence: i64, at_ms: i64, kind: &str, token: u64, state: &str) -> Event {
    Event {
        sequence,
        at_ms,
        kind: kind.to_owned(),
        token: Some(token),
        owner: Some("w1".to_owned()),
        called: true,
        state: state.to_owned(),
        ..Event::default()
    }
}

fn execute(sequence: i64, at_ms: i64, token: u64) -> Event {
    Event {
        grant: Some("EXECUTE".to_owned()),
        expires_at_ms: Some(at_ms + ms(LEASE)),
        begun: true,
        ..event(sequence, at_ms, "GRANTED", token, "SENT")
    }
}

fn verify(sequence: i64, at_ms: i64, token: u64) -> Event {
    Event {
        grant: Some("VERIFY".to_owned()),
        ..event(sequence, at_ms, "GRANTED", token, "UNKNOWN")
    }
}

fn evidence(sequence: i64, at_ms: i64, kind: &str, token: u64, what: &str, state: &str) -> Event {
    Event {
        evidence: Some(what.to_owned()),
        ended: what == "COMPLETED",
        counted: true,
        ..event(sequence, at_ms, kind, token, state)
    }
}

fn effect(token: u64, visible_at_ms: i64) -> Effect {
    Effect {
        token: Some(token),
        visible_at_ms,
    }
}

fn sending(action: &str, token: u64) -> Line {
    let action = action.to_owned();
    Line::Sending {
        at_ms: 5,
        action,
        token,
        attempt: 1,
        left_ms: 500,
    }
}

/// One settled action of each fleet, every fault often enough, and a blind fleet that doubles.
fn sound() -> Record {
    let mut record = Record::default();
    let mut log = vec![Line::Started {
        at_ms: 0,
        owner: "w1".to_owned(),
    }];
    for fleet in Fleet::ALL {
        let action = fleet.action(0);
        record.effects.insert(action.clone(), vec![effect(100, 10)]);
        if !fleet.guarded() {
            record
                .effects
                .insert(action, vec![effect(100, 10), effect(100, 20)]);
            continue;
        }
        let history = vec![
            execute(1, 0, 100),
            evidence(2, 20, "REPORTED", 100, "COMPLETED", "CONFIRMED"),
        ];
        record.history.insert(action.clone(), history);
        let standing = Standing {
            state: "CONFIRMED".to_owned(),
            effect_id: "e1".to_owned(),
            ..Standing::default()
        };
        record.actions.insert(action.clone(), standing);
        log.push(sending(&action, 100));
        let end = End::Settled {
            state: "CONFIRMED".to_owned(),
            effect_id: "e1".to_owned(),
        };
        log.push(Line::Ended {
            at_ms: 21,
            action,
            end,
            acknowledged: vec![100],
        });
    }
    record.logs.push(log);
    record.diary = Diary {
        injected: Fault::ALL.into_iter().map(|fault| (fault, FLOOR)).collect(),
        database: Vec::new(),
    };
    record
}

/// The quiet time of an attempt that was granted at 0 and whose holder was never heard of again.
fn quiet() -> i64 {
    ms(LEASE + SEND_TIMEOUT + SETTLE_WINDOW + CLOCK_STEP)
}

/// An action that was sent at 0, looked up at `looked_ms` without result, and sent again; the first effect was visible
/// from `visible_ms` on.
fn doubled(fleet: Fleet, looked_ms: i64, visible_ms: i64) -> Record {
    let mut record = sound();
    let action = fleet.action(0);
    let history = vec![
        execute(1, 0, 100),
        event(2, ms(LEASE), "LAPSED", 100, "UNKNOWN"),
        verify(3, looked_ms, 5_000),
        evidence(4, looked_ms + 5, "OBSERVED", 5_000, "NOT_FOUND", "NOT_FOUND"),
        execute(5, looked_ms + 5, 5_001),
        evidence(6, looked_ms + 20, "REPORTED", 5_001, "COMPLETED", "CONFIRMED"),
    ];
    record.history.insert(action.clone(), history);
    for line in &mut record.logs[0] {
        if let Line::Ended {
            action: of,
            acknowledged,
            ..
        } = line
            && *of == action
        {
            *acknowledged = vec![5_001];
        }
    }
    record.logs[0].push(sending(&action, 5_001));
    record.effects.insert(
        action,
        vec![effect(100, visible_ms), effect(5_001, looked_ms + 15)],
    );
    record
}

fn failures(record: &Record) -> Vec<String> {
    check(record, FLOOR).failures
}

/// Exactly one thing is wrong, and it is this.
fn fails(record: &Record, words: &str) {
    let failures = failures(record);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].contains(words), "{failures:?}");
}

fn history(record: &mut Record, fleet: Fleet) -> &mut Vec<Event> {
    record.history.get_mut(&fleet.action(0)).unwrap()
}

#[test]
fn a_sound_record_passes_and_is_counted() {
    let Verdict { fleets, failures, .. } = check(&sound(), FLOOR);
    assert!(failures.is_empty(), "{failures:?}");
    let fenced = &fleets[&Fleet::Fenced];
    assert_eq!(
        (fenced.actions, fenced.calls, fenced.sends, fenced.effects),
        (1, 2, 1, 1)
    );
    assert_eq!(fleets[&Fleet::Blind].duplicates, 1);
}

#[test]
fn a_planted_duplicate_fails_under_every_guarantee() {
    for fleet in Fleet::ALL.into_iter().filter(|fleet| fleet.guarded()) {
        let mut record = sound();
        record
            .effects
            .get_mut(&fleet.action(0))
            .unwrap()
            .push(effect(100, 30));
        fails(&record, "was doubled");
    }
}

#[test]
fn a_send_that_outlived_its_quiet_time_excuses_the_duplicate_of_a_serialized_action_and_of_no_other() {
    let looked = quiet() + 50;
    let excused = doubled(Fleet::Serialized, looked, looked + 10);
    let verdict = check(&excused, FLOOR);
    assert!(verdict.failures.is_empty(), "{:?}", verdict.failures);
    let tally = &verdict.fleets[&Fleet::Serialized];
    assert_eq!((tally.duplicates, tally.excused, tally.outlived), (1, 1, 1));
    fails(&doubled(Fleet::Fenced, looked, looked + 10), "was doubled");
    fails(&doubled(Fleet::Serialized, looked, quiet() - 1), "was doubled");
}

#[test]
fn an_absence_that_counted_before_the_quiet_time_fails_also_without_a_duplicate() {
    let mut early = doubled(Fleet::Serialized, quiet() - 1, 0);
    early
        .effects
        .insert(Fleet::Serialized.action(0), vec![effect(5_001, 10_000)]);
    fails(&early, "1 ms too early");
}

#[test]
fn evidence_that_was_acknowledged_and_is_gone_fails() {
    let mut record = sound();
    // As after a failover that lost the last commit, and a new decision by somebody else's evidence.
    history(&mut record, Fleet::Fenced)[1] = evidence(2, 30, "OBSERVED", 101, "CONFIRMED", "CONFIRMED");
    fails(&record, "acknowledged and is gone");
    let mut other = sound();
    other.actions.get_mut(&Fleet::Fenced.action(0)).unwrap().effect_id = "e2".to_owned();
    fails(&other, "was told that it is confirmed by e1");
    let mut forgotten = sound();
    forgotten.actions.remove(&Fleet::Fenced.action(0));
    fails(&forgotten, "does not know it");
    let mut believed = sound();
    believed.effects.remove(&Fleet::AtMostOnce.action(0));
    assert!(failures(&believed)[0].contains("the receiver does not have it"));
}

#[test]
fn a_token_that_falls_a_gap_and_an_execution_after_the_end_fail() {
    let mut falls = sound();
    let again = verify(1, 0, 101);
    history(&mut falls, Fleet::Fenced).insert(0, again);
    history(&mut falls, Fleet::Fenced)[1].sequence = 2;
    history(&mut falls, Fleet::Fenced)[2].sequence = 3;
    fails(&falls, "token 100 was granted after 101");
    let mut gap = sound();
    history(&mut gap, Fleet::Fenced)[1].sequence = 3;
    fails(&gap, "history has 3 where 2 belongs");
    let mut after = sound();
    history(&mut after, Fleet::Fenced).push(execute(3, 40, 101));
    fails(&after, "after it was settled as CONFIRMED");
}

#[test]
fn a_grant_that_history_does_not_know_and_a_token_in_two_hands_fail() {
    let mut unknown = sound();
    unknown.logs[0].push(sending(&Fleet::Fenced.action(0), 99));
    fails(&unknown, "which history never granted it");
    let mut shared = sound();
    let started = Line::Started {
        at_ms: 0,
        owner: "w2".to_owned(),
    };
    shared
        .logs
        .push(vec![started, sending(&Fleet::Fenced.action(0), 100)]);
    assert!(
        failures(&shared)
            .iter()
            .any(|failure| failure.contains("both sent under token 100"))
    );
}

#[test]
fn what_is_undecided_has_to_say_why_and_what_comes_next() {
    let undecided = |reason: &str, next: &str| {
        let mut record = sound();
        let standing = Standing {
            state: "UNKNOWN".to_owned(),
            reason: reason.to_owned(),
            next: next.to_owned(),
            ..Standing::default()
        };
        let action = Fleet::AtMostOnce.action(1);
        record.effects.insert(action.clone(), vec![effect(100, 10)]);
        record.history.insert(action.clone(), vec![execute(1, 0, 100)]);
        record.actions.insert(action, standing);
        record
    };
    let honest = undecided("LEASE_LAPSED", "a person is needed");
    assert!(failures(&honest).is_empty());
    assert_eq!(check(&honest, FLOOR).fleets[&Fleet::AtMostOnce].undecided, 1);
    fails(&undecided("", "a person is needed"), "does not say why");
    fails(&undecided("LEASE_LAPSED", "none is told"), "what comes next");
}

#[test]
fn a_run_that_tested_nothing_fails() {
    for fault in Fault::ALL {
        let mut seldom = sound();
        seldom.diary.injected.insert(fault, FLOOR - 1);
        fails(&seldom, fault.title());
    }
    let mut blind = sound();
    blind.effects.get_mut(&Fleet::Blind.action(0)).unwrap().pop();
    fails(&blind, "nothing was doubled either");
    let mut idle = sound();
    idle.effects.remove(&Fleet::Blind.action(0));
    assert!(
        failures(&idle)
            .iter()
            .any(|failure| failure.contains("brought nothing about"))
    );
}

#[test]
fn the_outage_is_the_longest_silence_after_a_failover_and_before_the_next_strike() {
    let mut record = sound();
    record.diary.database = vec![(50, Fault::PrimaryKilled), (2_000, Fault::PostgresRestarted)];
    history(&mut record, Fleet::Fenced).push(event(3, 1_250, "OBSERVED", 100, "CONFIRMED"));
    history(&mut record, Fleet::Fenced).push(event(4, 1_900, "OBSERVED", 100, "CONFIRMED"));
    history(&mut record, Fleet::Fenced).push(event(5, 2_300, "OBSERVED", 100, "CONFIRMED"));
    history(&mut record, Fleet::Fenced).push(event(6, 9_000, "OBSERVED", 100, "CONFIRMED"));
    assert_eq!(longest_outage_ms(&record), Some(1_200));
}
