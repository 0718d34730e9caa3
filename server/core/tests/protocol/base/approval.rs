//! A10: nobody acts before a person has approved.

use deed_core::action::{GrantKind, State};
use deed_core::command::Decision;
use deed_core::reply::{Refusal, WaitReason};

use crate::world::*;

const W1: &str = "w1";

#[test]
fn a10_nobody_executes_unapproved_and_the_approval_is_for_this_input() {
    let mut w = World::new(approved());
    w.claim_begun(W1).waits(WaitReason::Approval);
    assert_eq!(w.state(), State::AwaitingApproval);
    let refusal = w.decide(Decision::Approve { input: input(2) }).refused();
    assert!(matches!(
        refusal,
        Refusal::InvalidField {
            field: "input_hash",
            ..
        }
    ));
    w.at(10.0).claim_begun(W1).waits(WaitReason::Approval);
    w.decide(approve()).claimable(GrantKind::Execute);
    w.claim_begun(W1).executes();
}

#[test]
fn a10_the_budget_starts_at_the_approval() {
    let mut w = World::new(approved());
    w.plan(W1);
    w.at(86_000.0).decide(approve());
    w.at(172_399.0).claim_begun(W1).executes();
}

#[test]
fn a10_a_request_for_approval_expires_after_a_day() {
    let mut w = World::new(approved());
    w.plan(W1);
    w.at(86_399.0).claim(W1).waits(WaitReason::Approval);
    let settled = w.at(86_400.0).claim(W1).settled(State::Rejected);
    assert_eq!(settled.closure, Some(deed_core::action::Closure::ApprovalExpired));
    w.decide(reopen()).waits(WaitReason::Approval);
    w.decide(approve()).claimable(GrantKind::Execute);
}

#[test]
fn a10_a_denied_action_is_rejected() {
    let mut w = World::new(approved());
    w.plan(W1);
    w.decide(Decision::Deny).settled(State::Rejected);
    w.claim_begun(W1).settled(State::Rejected);
}
