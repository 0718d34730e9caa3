//! Evidence under another's token: proof is kept under the speaker's own name, and commands nothing (rules 10 and 11).

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Then};
use deed_core::event::What;
use deed_core::reply::{BlockReason, Refusal};
use deed_core::text::Principal;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

#[test]
fn proof_under_anothers_token_is_kept_under_the_speakers_own_name() {
    for by_receipt in [true, false] {
        let mut w = World::new(serialized());
        let token = w.sends(W1);
        let told = if by_receipt {
            w.report(W2, token, completed("X"))
        } else {
            w.verify(W2, token, seen("X"))
        };
        told.settled(State::Confirmed);
        let mut events = w.events().iter();
        let kept = events.rfind(|event| matches!(event.what, What::Reported { .. } | What::Observed { .. }));
        let kept = kept.unwrap();
        assert_eq!((kept.by.as_ref(), kept.token), (Some(&caller(W2)), Some(token)));
        assert_eq!(
            kept.attempt,
            Some(1),
            "it speaks of the attempt that the token names"
        );
        assert!(!w.flags_set(), "one send, one effect");
        w.renew(W1, token).settled(State::Confirmed);
        w.report(W1, token, completed("X")).settled(State::Confirmed);
        assert_eq!((w.evidence(), w.flags_set()), (2, false));
    }
}

#[test]
fn one_principal_under_another_owner_name_and_the_reverse_are_both_somebody_else() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    for (owner, principal) in [(W1, W2), (W2, W1)] {
        for receipt in [unknown_ended(), completed("X")] {
            let proof = receipt.proof();
            let mut report = w.command(
                owner,
                Ask::Report {
                    token,
                    receipt,
                    then: Then::Nothing,
                    spec: None,
                },
            );
            report.request.caller.principal = Principal::new(principal).unwrap();
            let told = w.send(&report);
            if proof {
                told.settled(State::Confirmed);
                assert_eq!(w.events().last().unwrap().by, Some(report.request.caller));
            } else {
                assert_eq!(told.refused(), Refusal::NotYourGrant);
            }
        }
    }
}

#[test]
fn proof_in_each_state_does_under_anothers_token_what_a_late_one_does_under_its_own() {
    type Lead = fn(&mut World);
    let leads: [(&str, Lead); 6] = [
        ("unknown", |w| drop(w.at(6.0).sweep())),
        ("accepted", |w| drop(w.report(W1, first(w), accepted("J", 1)))),
        ("not sent", |w| drop(w.report(W1, first(w), not_sent()))),
        ("rejected", |w| drop(w.report(W1, first(w), rejected("no")))),
        ("absent", |w| {
            w.report(W1, first(w), unknown_ended());
            let lookup = w.at(30.0).claim(W2).verifies();
            w.verify(W2, lookup.token, absent());
        }),
        ("retried", |w| {
            w.report(W1, first(w), unknown_ended());
            let lookup = w.at(30.0).claim(W2).verifies();
            w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
                .executes();
        }),
    ];
    for (name, lead) in leads {
        let [own, other] = [W1, "somebody"].map(|who| {
            let mut w = World::new(serialized());
            let token = w.sends(W1);
            lead(&mut w);
            w.at(40.0)
                .report(who, token, completed("X"))
                .settled(State::Confirmed);
            (
                w.action().flags,
                w.action().effect.clone().map(|effect| effect.attempt),
            )
        });
        assert_eq!(own, other, "{name}");
    }
}

/// The token of the first grant.
fn first(w: &World) -> deed_core::id::Token {
    w.events().iter().find_map(|event| event.token).unwrap()
}

#[test]
fn it_gets_no_grant_whatever_it_wants() {
    for then in [Then::Grant, Then::BegunGrant] {
        let mut w = World::new(by_lookup());
        let token = w.sends(W1);
        w.at(30.0)
            .report_then(W2, token, completed("X"), then)
            .claimable(GrantKind::Verify);
        assert_eq!(w.action().grant.as_ref().unwrap().token, token);
    }
}

#[test]
fn it_ends_nobodys_send_and_brings_no_quiet_time_forward() {
    let mut w = World::new(by_lookup());
    let started = w.now;
    let token = w.sends(W1);
    w.at(1.0).report(W2, token, completed("X")).held();
    assert_eq!(w.state(), State::Sent);
    let quiet = w.at(6.0).claim(W2).verifies().absence_counts_from;
    // Lease 5 s, send timeout 5 s, settle window 10 s, clock step 1 s: as if nobody had said that the send is over.
    assert_eq!(quiet, started.plus(secs(21)));
    let lookup = w.at(25.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent())
        .blocked(BlockReason::Contradiction);
}

#[test]
fn a_grant_that_has_not_begun_does_not_begin_on_top_of_it() {
    let mut w = World::new(by_lookup());
    let token = w.claim(W1).executes().token;
    w.report(W2, token, completed("X")).claimable(GrantKind::Verify);
    assert!(
        w.action().flags.ungated,
        "somebody says that it was sent, and nobody had begun"
    );
    w.begin(W1, token).claimable(GrantKind::Verify);
}

#[test]
fn a_repeat_of_it_is_kept_once() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let report = w.command(
        W2,
        Ask::Report {
            token,
            receipt: completed("X"),
            then: Then::BegunGrant,
            spec: None,
        },
    );
    let once = w.send(&report);
    assert_eq!(once, w.send(&report));
    assert_eq!(w.evidence(), 1);
}
