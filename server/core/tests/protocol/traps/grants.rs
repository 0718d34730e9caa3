//! Traps of grants: slow, lost, repeated and renewed ones (C3, C4, C9, C10, C11, C15, C16, C20).

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Then};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, WaitReason};

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";
const W3: &str = "w3";

#[test]
fn c3_a_lease_counts_from_the_grant_however_late_its_answer_comes() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    let granted = w.send(&claim).executes();
    // The commit waited three seconds; the caller repeats.
    let again = w.at(3.0).send(&claim).executes();
    assert_eq!(again.expires_at, granted.expires_at);
    assert_eq!(again.lease_left, secs(2));
    assert!(!w.at(5.0).send(&claim).lets_execute());
}

#[test]
fn c4_and_c20_a_grant_that_is_read_back_is_marked_for_a_commit_of_its_own() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    let row = Row::default();
    let first = w
        .protocol
        .decide(None, &row.remembered(&claim, &w.registry), &claim, w.now);
    assert!(!first.reads_back, "the first answer follows its own commit");
    let granted = w.send(&claim).executes();
    let row = w.rows[&w.key].clone();
    let remembered = row.remembered(&claim, &w.registry);
    let again = w.protocol.decide(row.action.as_ref(), &remembered, &claim, w.now);
    assert!(
        again.reads_back,
        "the repeat writes nothing, so nothing says that what was read is safe"
    );
    assert!(again.next.is_none() && again.events.is_empty());
    assert_eq!(w.send(&claim).executes(), granted);
}

#[test]
fn c9_a_repeat_after_the_lapse_gets_no_grant_and_no_stale_time() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(false);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).send(&claim).claimable(GrantKind::Execute);
}

#[test]
fn c9_a_repeat_after_somebody_elses_grant_is_held_off() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(false);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).claim(W2).executes();
    assert_eq!(w.at(7.0).send(&claim).held().0, W2);
    w.at(30.0).send(&claim).claimable(GrantKind::Execute);
}

#[test]
fn c10_a_completed_report_under_a_lost_grant_is_kept_and_confirms() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let lost = Token::new(w.action().token.number() + 40_000).unwrap();
    let told = w.at(10.0).report(W1, lost, completed("X"));
    assert_eq!(told.settled(State::Confirmed).external_id, Some(external("X")));
    assert!(
        w.action().token >= lost,
        "the floor is raised past the lost grant"
    );
    assert_eq!(w.evidence(), 1);
}

#[test]
fn c10_a_completed_report_under_a_lost_grant_is_flagged_where_another_has_begun() {
    for lapses in [false, true] {
        let mut w = World::new(serialized());
        let begun = w.sends(W2);
        let lost = Token::new(begun.number() + 40_000).unwrap();
        let told = w
            .at(if lapses { 8.0 } else { 2.0 })
            .report(W1, lost, completed("X"));
        told.settled(State::Confirmed);
        assert!(told.flags().duplicate_suspected, "lapsed: {lapses}");
        assert!(w.action().token >= lost);
    }
}

#[test]
fn c10_nobody_begins_unverified_on_top_of_a_lost_grants_doubt() {
    let mut w = World::new(serialized());
    let unbegun = w.claim(W2).executes().token;
    let lost = Token::new(unbegun.number() + 40_000).unwrap();
    w.at(1.0).report(W1, lost, unknown());
    assert_eq!(w.state(), State::Unknown);
    assert!(!w.begin(W2, unbegun).lets_execute());
    // Its lease end is the report's time and a lease: 1 + 5 + 5 + 10 + 1.
    let early = w.at(2.0).claim(W2).verifies();
    w.at(3.0)
        .verify(W2, early.token, absent())
        .waits(WaitReason::SettleWindow);
    let due = w.at(22.0).claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::BegunGrant)
        .executes();
}

#[test]
fn c10_what_a_lookup_of_a_lost_grant_found_is_doubt_too() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let lost = Token::new(w.action().token.number() + 40_000).unwrap();
    // The lookup was granted because somebody had sent: that send was lost with it.
    w.at(10.0).verify(W1, lost, unclear());
    assert_eq!(w.state(), State::Unknown);
    assert!(w.action().token >= lost);
    assert!(!w.claim_begun(W2).lets_execute());
    w.at(11.0).verify(W1, lost, unclear());
    assert_eq!(w.action().undisproved.len(), 1, "one lost token is one attempt");
}

#[test]
fn c11_a_resend_ends_inside_the_receivers_window_however_often_it_is_renewed() {
    let mut w = World::new(deduplicated());
    w.sends(W1);
    let grant = w.at(85.0).claim(W2).executes();
    assert!(grant.resend);
    // Window 100 - send timeout 5 - settle window 0 - clock step 1.
    assert_eq!(w.at(89.0).renew(W2, grant.token).renewed(), 5.0);
    assert_eq!(w.at(93.0).renew(W2, grant.token).renewed(), 1.0);
    assert!(!w.at(94.0).begin(W2, grant.token).lets_execute());
    w.claim(W3).blocked(BlockReason::DeduplicationWindowPassed);
}

#[test]
fn c15_a_delayed_copy_of_a_begun_claim_begins_nothing() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).send(&claim).claimable(GrantKind::Verify);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent()).claimable(GrantKind::Execute);
    // The absence is there for the taking, but not for a copy.
    w.at(60.0).send(&claim).claimable(GrantKind::Execute);
    assert_eq!((w.state(), w.action().attempts), (State::NotFound, 1));
}

#[test]
fn c16_an_operator_is_not_refused_for_the_holders_renewals() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let looked_at = w.action().version;
    for second in 1..4 {
        w.at(f64::from(second)).renew(W1, token).renewed();
    }
    let ask = Ask::Decide {
        version: looked_at,
        note: note("seen on the statement"),
        decision: resolve_confirmed("CH-1"),
    };
    w.call("operator", ask).settled(State::Confirmed);
}
