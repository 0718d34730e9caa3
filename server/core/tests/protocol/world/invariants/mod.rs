//! Everything that must hold after every step, whoever did whatever. Derived from the protocol's page, not from the code:
//! what can be computed again is computed again here.

mod effect;
mod lease;

use std::collections::BTreeMap;

use deed_core::Protocol;
use deed_core::action::{Action, Flag, State};
use deed_core::command::{Ask, Command, Decision, Resolution};
use deed_core::contract::{Deduplication, EffectClass, OnPartial};
use deed_core::event::{Event, What};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::id::{ActionKey, RequestId, Token};
use deed_core::judgement::{Judgement, Remembered};
use deed_core::reply::{NextStep, Reply};
use deed_core::time::Timestamp;
use effect::{absence, begins, finality, states};
use lease::{leases, tokens};

/// One step as it was judged.
pub struct Arrival<'a> {
    pub protocol: &'a Protocol,
    pub now: Timestamp,
    pub command: &'a Command,
    pub remembered: &'a Remembered,
    pub before: Option<&'a Action>,
    pub judgement: &'a Judgement,
}

/// What callers were told so far, and what was counted.
#[derive(Clone, Default)]
pub struct Ledger {
    told: BTreeMap<(ActionKey, Token), Timestamp>,
    grants: BTreeMap<(ActionKey, RequestId), Token>,
    /// Sends that passed the gate, and pieces of evidence or decisions that disproved one.
    sends: BTreeMap<ActionKey, (u32, u32)>,
}

impl Ledger {
    pub fn check(&mut self, arrival: &Arrival<'_>, history: &[Event]) {
        let judgement = arrival.judgement;
        if judgement.reply.is_err() {
            assert!(judgement.next.is_none(), "a refused command changes nothing");
            assert!(
                judgement.events.is_empty() && judgement.registers.is_none() && judgement.contests.is_none()
            );
            return;
        }
        let Some(after) = judgement.next.as_deref().or(arrival.before) else {
            panic!("a judged command speaks of an action")
        };
        versions_and_sequences(arrival, after);
        states(arrival, after);
        finality(arrival, after);
        tokens(arrival, after, history);
        leases(arrival, after);
        traces(arrival, history);
        attempts(arrival, after, history);
        begins(arrival, after);
        evidence(arrival);
        repeats(arrival, after);
        absence(arrival, after);
        flags(arrival, after);
        answers(arrival, after);
        self.promises(arrival, after);
        self.balance(arrival, after);
    }

    /// No grant changes its token for a request, and the row knows every expiry that anybody was told.
    fn promises(&mut self, arrival: &Arrival<'_>, after: &Action) {
        let key = &after.key;
        if let Some((token, expires_at)) = told(arrival.judgement) {
            let token = token.or_else(|| super::row::token_of(&arrival.command.ask));
            let token = token.expect("a renewal names its token");
            let latest = self.told.entry((key.clone(), token)).or_insert(expires_at);
            assert!(*latest <= expires_at, "a lease is never shortened");
            *latest = expires_at;
            if !matches!(arrival.command.ask, Ask::Renew { .. }) {
                let id = arrival.command.request.id;
                let first = *self.grants.entry((key.clone(), id)).or_insert(token);
                assert_eq!(
                    first, token,
                    "a request id that once got a grant never gets another"
                );
            }
        }
        for attempt in &after.undisproved {
            if let Some(told) = self.told.get(&(key.clone(), attempt.token)) {
                assert!(
                    attempt.lease_end >= *told || attempt.ended_at.is_some(),
                    "the quiet time counts from the latest expiry that was told"
                );
            }
        }
    }

    /// Where nothing may be re-sent, sends that passed the gate outnumber what was disproved by one at most.
    fn balance(&mut self, arrival: &Arrival<'_>, after: &Action) {
        let contract = &after.spec.contract;
        let (sends, disproved) = self.sends.entry(after.key.clone()).or_default();
        for event in &arrival.judgement.events {
            match &event.what {
                What::Reported {
                    receipt: Receipt::Rejected { .. } | Receipt::NotApplied { .. } | Receipt::NotSent { .. },
                    ..
                }
                | What::Observed {
                    observation:
                        deed_core::evidence::Observation {
                            verdict: Verdict::Failed { .. } | Verdict::NotFound,
                            ..
                        },
                    counted: true,
                }
                | What::Decided {
                    decision:
                        Decision::Resolve {
                            resolution: Resolution::Absent,
                            ..
                        },
                    ..
                } => *disproved += 1,
                What::Granted { begun: true, .. } | What::Begun => *sends += 1,
                _ => {}
            }
        }
        let once = contract.effect_class != EffectClass::Read
            && contract.on_partial == OnPartial::Stop
            && !matches!(contract.deduplication, Deduplication::IdempotencyKey { .. });
        if once {
            assert!(*sends <= *disproved + 1, "{sends} sends, {disproved} disproofs");
        }
    }
}

/// The token and expiry that an answer tells; a renewal's token is in its command.
fn told(judgement: &Judgement) -> Option<(Option<Token>, Timestamp)> {
    match judgement.reply.as_ref().ok()? {
        Reply::Renewed { expires_at, .. } => Some((None, *expires_at)),
        Reply::Step(answer) => match &answer.step {
            NextStep::Execute(grant) => Some((Some(grant.token), grant.expires_at)),
            NextStep::VerifyEffect(grant) => Some((Some(grant.token), grant.expires_at)),
            _ => None,
        },
    }
}

fn versions_and_sequences(arrival: &Arrival<'_>, after: &Action) {
    let (version, sequence) = arrival
        .before
        .map_or((0, 0), |before| (before.version.0, before.sequence));
    let events = &arrival.judgement.events;
    let moved = u64::from(!events.is_empty());
    assert_eq!(
        after.version.0,
        version + moved,
        "the version moves by one exactly with history"
    );
    for (event, expected) in events.iter().zip(sequence + 1..) {
        assert_eq!(event.sequence, expected, "history has no gaps");
        assert_eq!(event.at, arrival.now);
        assert_eq!(event.state, after.state, "history says the state after the call");
    }
    let last = events.last().map_or(sequence, |event| event.sequence);
    assert_eq!(after.sequence, last);
}

fn traces(arrival: &Arrival<'_>, history: &[Event]) {
    let events = &arrival.judgement.events;
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| event.request)
        .map(|trace| trace.id)
        .collect();
    assert!(ids.len() <= 1, "a call is remembered once");
    for id in ids {
        assert_eq!(id, arrival.command.request.id);
        let twice = history
            .iter()
            .any(|event| event.request.is_some_and(|trace| trace.id == id));
        assert!(!twice, "one trace per request id");
    }
}

fn attempts(arrival: &Arrival<'_>, after: &Action, history: &[Event]) {
    let mut numbers: Vec<_> = after.undisproved.iter().map(|attempt| attempt.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(
        numbers.len(),
        after.undisproved.len(),
        "attempt numbers are never reused"
    );
    assert!(numbers.iter().all(|number| (1..=after.attempts).contains(number)));
    let used = arrival.before.map_or(0, |before| before.attempts);
    assert!(after.attempts >= used);
    let begun = |event: &&Event| matches!(event.what, What::Granted { begun: true, .. } | What::Begun);
    for event in arrival.judgement.events.iter().filter(begun) {
        assert!(
            event.attempt.is_some_and(|number| number > used),
            "a begin takes a fresh number"
        );
    }
    // Every token speaks for one attempt.
    for event in &arrival.judgement.events {
        if let (Some(token), Some(number)) = (event.token, event.attempt) {
            let other = history
                .iter()
                .any(|past| past.token == Some(token) && past.attempt.is_some_and(|past| past != number));
            assert!(!other, "a token names one attempt");
            let shared = history
                .iter()
                .any(|past| past.attempt == Some(number) && past.token.is_some_and(|past| past != token));
            assert!(
                !shared || matches!(event.what, What::Observed { .. }),
                "an attempt has one token"
            );
        }
    }
}

fn evidence(arrival: &Arrival<'_>) {
    let brings = matches!(
        arrival.command.ask,
        Ask::Report { .. } | Ask::Verify { .. } | Ask::Observe { .. }
    );
    let kept = arrival
        .judgement
        .events
        .iter()
        .filter(|event| matches!(event.what, What::Reported { .. } | What::Observed { .. }))
        .count();
    let expected = usize::from(brings && arrival.remembered.request.is_none());
    assert_eq!(kept, expected, "evidence that is judged is kept once");
}

fn repeats(arrival: &Arrival<'_>, after: &Action) {
    let judged_anew = matches!(
        arrival.command.ask,
        Ask::Renew { .. } | Ask::Sweep | Ask::Contest { .. }
    );
    let Some(past) = arrival.remembered.request.as_ref().filter(|_| !judged_anew) else {
        return;
    };
    let by_time = |event: &Event| matches!(event.what, What::Lapsed { .. } | What::ApprovalExpired);
    assert!(
        arrival.judgement.events.iter().all(by_time),
        "a repeat changes nothing"
    );
    if let Some((token, _)) = told(arrival.judgement) {
        assert_eq!(token, past.granted, "a repeat gets the same token or none");
        assert!(
            arrival.judgement.reads_back,
            "a grant that was read back is marked"
        );
        assert_eq!(
            after.live_grant(arrival.now).map(|grant| grant.token),
            past.granted
        );
    }
}

fn flags(arrival: &Arrival<'_>, after: &Action) {
    let Some(before) = arrival.before else { return };
    for flag in before.flags.set() {
        let cleared = !after.flags.set().any(|set| set == flag);
        let by_operator = matches!(
            arrival.command.ask,
            Ask::Decide { decision: Decision::Acknowledge { flag: named }, .. } if named == flag
        );
        assert!(!cleared || by_operator, "a mark stays until it is acknowledged");
    }
    let raised: Vec<Flag> = after
        .flags
        .set()
        .filter(|flag| !before.flags.set().any(|set| set == *flag))
        .collect();
    for flag in raised {
        let written = arrival
            .judgement
            .events
            .iter()
            .any(|event| event.what == What::Flagged { flag });
        assert!(written, "a mark is written down");
    }
}

fn answers(arrival: &Arrival<'_>, after: &Action) {
    let now = arrival.now;
    let Ok(Reply::Step(answer)) = &arrival.judgement.reply else {
        return;
    };
    assert_eq!(answer.version, after.version);
    assert_eq!(answer.state, after.state);
    assert_eq!(
        answer.safe_to_retry(),
        matches!(answer.step, NextStep::Execute(_))
    );
    match &answer.step {
        NextStep::Execute(grant) => {
            let live = after
                .live_grant(now)
                .expect("who is told to execute has a live lease");
            assert_eq!((grant.token, grant.expires_at), (live.token, live.expires_at));
            assert_eq!(
                live.holder, arrival.command.request.caller,
                "a grant is told to its holder alone"
            );
            assert_eq!(grant.lease_left, live.expires_at.since(now));
            assert!(!grant.lease_left.empty(), "a grant has time left");
            assert!(!grant.begun || live.begun());
            assert_eq!(grant.attempt, live.attempt);
        }
        NextStep::VerifyEffect(grant) => {
            let live = after
                .live_grant(now)
                .expect("who is told to look has a live lease");
            assert_eq!((grant.token, grant.expires_at), (live.token, live.expires_at));
            assert_eq!(live.holder, arrival.command.request.caller);
            assert!(!grant.lease_left.empty());
        }
        NextStep::Claimable(_) | NextStep::Blocked { .. } => assert!(after.live_grant(now).is_none()),
        NextStep::Wait { retry_after, .. } => {
            assert!(!retry_after.empty(), "nobody is told to wait for no time");
            assert!(after.live_grant(now).is_none());
        }
        NextStep::Held { lease_left, .. } => assert!(!lease_left.empty()),
        NextStep::Settled(settled) => {
            assert!(after.state.settled());
            assert_eq!(settled.effect.is_some(), after.state == State::Confirmed);
        }
    }
}
