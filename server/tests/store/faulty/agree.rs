//! Whether a row can be explained by its history: version, sequence, token, attempts, state and lease. The fold is this
//! file's own and knows nothing of the rules; where only the rules could say whether an attempt is disproved, both
//! answers are taken.

use std::collections::{BTreeMap, BTreeSet};

use deed_core::action::{Action, GrantKind, State};
use deed_core::command::{Decision, Resolution};
use deed_core::event::{Event, What};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::id::Token;
use deed_core::time::Timestamp;

/// The attempts of an action, told from its history.
#[derive(Default)]
struct Attempts {
    /// Every attempt that history names.
    known: BTreeMap<u32, Token>,
    /// Undisproved for certain.
    surely: BTreeSet<u32>,
    /// Undisproved, perhaps.
    perhaps: BTreeSet<u32>,
    /// Their executor said that the effect is done: no later word of its own disproves them.
    completed: BTreeSet<u32>,
    /// Tokens of lookups that nobody granted here: each may stand for a lost send, whose number history does not tell.
    lost: Vec<Token>,
}

impl Attempts {
    fn add(&mut self, number: u32, token: Token) {
        if let Some(other) = self.known.insert(number, token) {
            assert_eq!(other, token, "attempt {number} is used twice");
        }
        self.surely.insert(number);
        self.perhaps.insert(number);
    }

    fn clear(&mut self) {
        self.surely.clear();
        self.perhaps.clear();
        self.completed.clear();
        self.lost.clear();
    }

    fn take(&mut self, event: &Event) {
        let named = event.attempt.zip(event.token);
        match &event.what {
            What::Granted { begun: true, .. } | What::Begun => {
                let (number, token) = named.unwrap();
                self.add(number, token);
            }
            What::Reported { receipt, .. } => self.reported(named, receipt),
            What::Observed { observation, counted } => {
                if let Some(token) = event.token
                    && !self.known.values().any(|known| *known == token)
                {
                    self.lost.push(token);
                }
                match observation.verdict {
                    Verdict::NotFound if *counted && event.state == State::NotFound => self.clear(),
                    // The one that it names, by its number or by its external id.
                    Verdict::Failed { .. } if *counted => self.surely.clear(),
                    // A lookup's answer may begin the next attempt in the same call; the state is the one after it.
                    Verdict::NotFound if *counted => self.surely.clear(),
                    _ => {}
                }
            }
            What::Decided {
                decision:
                    Decision::Resolve {
                        resolution: Resolution::Absent,
                        ..
                    },
                ..
            } => self.clear(),
            What::Planned
            | What::Granted { begun: false, .. }
            | What::Lapsed { .. }
            | What::Released { .. }
            | What::Fenced { .. }
            | What::ApprovalExpired
            | What::Decided { .. }
            | What::Contested { .. }
            | What::Flagged { .. } => {}
        }
    }

    fn reported(&mut self, named: Option<(u32, Token)>, receipt: &Receipt) {
        let Some((number, token)) = named else { return };
        if !self.known.contains_key(&number) {
            self.add(number, token);
        }
        match receipt {
            Receipt::NotSent { .. } | Receipt::NotApplied { .. } | Receipt::Rejected { .. } => {
                self.surely.remove(&number);
                if !self.completed.contains(&number) {
                    self.perhaps.remove(&number);
                }
            }
            Receipt::Completed { .. } => {
                self.completed.insert(number);
                self.perhaps.insert(number);
            }
            Receipt::Accepted { .. } | Receipt::Unknown { .. } => {}
        }
    }
}

/// Panics where row and history do not agree.
pub fn agree(action: &Action, history: &[Event]) {
    let key = &action.key;
    let (first, last) = (history.first().unwrap(), history.last().unwrap());
    let sequences = history.iter().map(|event| event.sequence);
    assert!(
        sequences.eq(1..=action.sequence),
        "{key:?}: gaps, or a tail that is missing"
    );
    assert!(history.is_sorted_by_key(|event| event.at), "{key:?}");
    assert_eq!(action.created_at, first.at, "{key:?}");
    assert_eq!(action.state, last.state, "{key:?}");

    // Every judged call that leaves history moves the version by one, and reads a time of its own under the row's lock.
    let calls: BTreeSet<Timestamp> = history.iter().map(|event| event.at).collect();
    assert_eq!(usize::try_from(action.version.0).unwrap(), calls.len(), "{key:?}");

    tokens(action, history);
    let mut attempts = Attempts::default();
    let mut confirmed = false;
    for call in history.chunk_by(|one, next| one.at == next.at) {
        call.iter().for_each(|event| attempts.take(event));
        let proven = call.iter().all(|event| event.state == State::Confirmed);
        assert!(proven || !confirmed, "{key:?}: proof is final");
        if proven && !confirmed {
            attempts.clear();
        }
        confirmed = proven;
    }
    undisproved(action, &attempts);
    lease(action, history);
}

fn tokens(action: &Action, history: &[Event]) {
    let mut highest = Token::after(None, action.created_at);
    for event in history {
        let Some(token) = event.token else { continue };
        if matches!(event.what, What::Granted { .. }) {
            assert!(token > highest, "{:?}: {event:?}", action.key);
        }
        highest = highest.max(token);
    }
    assert_eq!(action.token, highest, "{:?}", action.key);
}

fn undisproved(action: &Action, attempts: &Attempts) {
    let key = &action.key;
    let known = attempts.known.last_key_value().map_or(0, |(number, _)| *number);
    assert!(action.attempts >= known, "{key:?}");
    let row: BTreeSet<u32> = action.undisproved.iter().map(|attempt| attempt.number).collect();
    assert_eq!(row.len(), action.undisproved.len(), "{key:?}: an attempt twice");
    assert!(
        attempts.surely.is_subset(&row),
        "{key:?}: {:?} is not in {row:?}",
        attempts.surely
    );
    for attempt in &action.undisproved {
        let explained = attempts.perhaps.contains(&attempt.number)
            && attempts.known.get(&attempt.number) == Some(&attempt.token);
        let lost = attempts.lost.contains(&attempt.token);
        assert!(explained || lost, "{key:?}: nothing explains {attempt:?}");
    }
}

fn lease(action: &Action, history: &[Event]) {
    let granted = history.iter().rev().find_map(|event| match event.what {
        What::Granted { kind, expires_at, .. } => Some((event, kind, expires_at)),
        _ => None,
    });
    let Some(grant) = &action.grant else { return };
    let (event, kind, expires_at) = granted.unwrap();
    assert_eq!(
        (Some(grant.token), grant.kind, grant.granted_at),
        (event.token, kind, event.at),
        "{:?}",
        action.key
    );
    assert!(grant.expires_at >= expires_at, "{:?}", action.key);
    let announced = |other: &Event| {
        other.token == event.token
            && matches!(
                other.what,
                What::Granted { begun: true, .. } | What::Begun | What::Reported { .. }
            )
    };
    if kind == GrantKind::Execute && grant.begun() {
        assert!(history.iter().any(announced), "{:?}: begun by nobody", action.key);
    }
}
