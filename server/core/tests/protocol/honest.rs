//! Honest worlds: everybody keeps the contract, the network and the clock do not care. Whatever happens, the receiver's own
//! ledger holds one effect at most. Here nothing is computed from the protocol's rules: only the outside is counted.

mod play;
mod receiver;

use std::collections::BTreeMap;

use deed_core::action::State;
use deed_core::contract::{Deduplication, EffectClass, Retry, Terms, Verification};
use deed_core::time::Span;

use crate::world::*;
use play::Play;

/// Some 3 s of an unoptimised build for each contract.
const WORLDS: u64 = 1_000;
/// Enough for three attempts with their lookups.
const STEPS: u32 = 250;

fn patient(terms: Terms) -> Terms {
    Terms {
        effect_class: EffectClass::Irreversible,
        retry: Retry {
            max_attempts: 50,
            max_verifications: 30,
            initial_backoff: Span::from_millis(200),
            max_backoff: secs(2),
            ..Terms::DEFAULT_RETRY
        },
        ..terms
    }
}

fn looked_up(terms: Terms) -> Terms {
    Terms {
        verification: Verification::Postcondition {
            settle_window: secs(10),
            effect_deadline: secs(30),
        },
        ..patient(terms)
    }
}

/// Plays worlds and counts (effects in the ledger, last state).
fn play(terms: Terms, lag: Span, freezing: bool) -> BTreeMap<(usize, Option<State>), u64> {
    let mut ends = BTreeMap::new();
    for seed in 0..WORLDS {
        let mut play = Play::new(Dice::new(seed), terms, lag, freezing);
        for _ in 0..STEPS {
            play.step();
        }
        *ends.entry((play.receiver.effects(), play.state())).or_default() += 1;
    }
    for ((effects, state), times) in &ends {
        println!("{effects} effects, {state:?}: {times}");
    }
    ends
}

fn assert_never_double(terms: Terms) {
    assert_one_effect(terms, settle_window(&terms), false);
}

fn assert_one_effect(terms: Terms, lag: Span, freezing: bool) {
    let ends = play(terms, lag, freezing);
    for (effects, state) in ends.keys() {
        assert!(*effects <= 1, "{effects} effects, {state:?}");
        if *state == Some(State::Confirmed) {
            assert_eq!(*effects, 1, "what is confirmed exists");
        }
    }
    let reached = |effects: usize, wanted: State| ends.get(&(effects, Some(wanted))).copied().unwrap_or(0);
    assert!(reached(1, State::Confirmed) > WORLDS / 10, "work gets done");
}

fn settle_window(terms: &Terms) -> Span {
    match terms.verification {
        Verification::Postcondition { settle_window, .. } => settle_window,
        Verification::None => Span::ZERO,
    }
}

#[test]
fn at_most_once_never_doubles() {
    assert_never_double(patient(at_most_once()));
}

#[test]
fn serialized_never_doubles() {
    assert_never_double(looked_up(serialized()));
}

#[test]
fn serialized_by_lookup_never_doubles() {
    assert_never_double(looked_up(by_lookup()));
}

#[test]
fn asynchronous_never_doubles() {
    assert_never_double(looked_up(asynchronous()));
}

#[test]
fn deduplicated_never_doubles_even_beyond_the_window() {
    assert_never_double(patient(deduplicated()));
}

#[test]
fn deduplicated_and_looked_up_never_doubles() {
    let deduplication = Deduplication::IdempotencyKey { window: secs(60) };
    for terms in [serialized(), by_lookup(), asynchronous()] {
        let terms = Terms {
            deduplication,
            ..looked_up(terms)
        };
        assert_never_double(terms);
    }
}

#[test]
fn fenced_never_doubles() {
    assert_never_double(looked_up(fenced()));
}

/// Where lookups read what has landed. A lookup that lags can miss what a frozen owner landed just before it: the floor
/// that it raises comes too late for that one.
#[test]
fn fenced_never_doubles_where_owners_freeze_after_begin_and_lookups_do_not_lag() {
    assert_one_effect(looked_up(fenced()), Span::ZERO, true);
}

/// The counter-proof: these worlds do double where somebody breaks the contract, so that they would show a rule that is
/// too lax.
#[test]
fn a_receiver_slower_than_its_settle_window_and_an_owner_that_freezes_unfenced_do_double() {
    let doubled = |ends: BTreeMap<(usize, Option<State>), u64>| ends.keys().any(|(effects, _)| *effects > 1);
    assert!(
        doubled(play(looked_up(serialized()), secs(60), false)),
        "hidden for longer than declared"
    );
    assert!(
        doubled(play(looked_up(serialized()), secs(10), true)),
        "frozen after begin, unfenced"
    );
}
