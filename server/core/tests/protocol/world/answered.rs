//! An answer, with the questions that stories ask of it.

use std::panic::Location;

use deed_core::action::{Flags, GrantKind, State};
use deed_core::reply::{
    Answer, BlockReason, Execute, NextStep, Refusal, Reply, Settled, VerifyEffect, WaitReason,
};
use deed_core::text::FactName;
use deed_core::time::Span;

/// What a caller was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered(pub Result<Reply, Refusal>);

impl Answered {
    #[track_caller]
    pub fn answer(&self) -> &Answer {
        match &self.0 {
            Ok(Reply::Step(answer)) => answer,
            other => panic!("at {}: expected a next step, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn step(&self) -> &NextStep {
        &self.answer().step
    }

    #[track_caller]
    pub fn executes(&self) -> Execute {
        match self.step() {
            NextStep::Execute(grant) => grant.clone(),
            other => panic!("at {}: expected Execute, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn verifies(&self) -> VerifyEffect {
        match self.step() {
            NextStep::VerifyEffect(grant) => grant.clone(),
            other => panic!("at {}: expected VerifyEffect, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn claimable(&self, kind: GrantKind) {
        assert_eq!(self.step(), &NextStep::Claimable(kind));
    }

    /// The wait in seconds.
    #[track_caller]
    pub fn waits(&self, expected: WaitReason) -> f64 {
        match self.step() {
            NextStep::Wait { retry_after, reason } if *reason == expected => seconds(*retry_after),
            other => panic!(
                "at {}: expected Wait{{{expected:?}}}, got {other:?}",
                Location::caller()
            ),
        }
    }

    /// Who holds it, and the seconds that are left.
    #[track_caller]
    pub fn held(&self) -> (String, f64) {
        match self.step() {
            NextStep::Held {
                owner, lease_left, ..
            } => (owner.as_str().to_owned(), seconds(*lease_left)),
            other => panic!("at {}: expected Held, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn settled(&self, state: State) -> Settled {
        match self.step() {
            NextStep::Settled(settled) if settled.state == state => settled.clone(),
            other => panic!(
                "at {}: expected Settled as {state:?}, got {other:?}",
                Location::caller()
            ),
        }
    }

    /// The missing facts.
    #[track_caller]
    pub fn blocked(&self, expected: BlockReason) -> Vec<FactName> {
        match self.step() {
            NextStep::Blocked {
                reason,
                missing,
                detail,
            } if *reason == expected => {
                assert!(!detail.blank(), "a person needs to read why");
                missing.clone()
            }
            other => panic!(
                "at {}: expected Blocked{{{expected:?}}}, got {other:?}",
                Location::caller()
            ),
        }
    }

    /// What a person reads of a stop.
    #[track_caller]
    pub fn detail(&self) -> String {
        match self.step() {
            NextStep::Blocked { detail, .. } => detail.as_str().to_owned(),
            other => panic!("at {}: expected Blocked, got {other:?}", Location::caller()),
        }
    }

    /// The renewed lease, in seconds.
    #[track_caller]
    pub fn renewed(&self) -> f64 {
        match &self.0 {
            Ok(Reply::Renewed { lease_left, .. }) => seconds(*lease_left),
            other => panic!("at {}: expected a renewal, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn refused(&self) -> Refusal {
        match &self.0 {
            Err(refusal) => refusal.clone(),
            other => panic!("at {}: expected a refusal, got {other:?}", Location::caller()),
        }
    }

    #[track_caller]
    pub fn flags(&self) -> Flags {
        self.answer().flags
    }

    /// Whether the caller was given leave to send: the one thing that must never be wrong.
    pub fn lets_execute(&self) -> bool {
        matches!(&self.0, Ok(Reply::Step(answer)) if answer.safe_to_retry())
    }
}

pub fn seconds(span: Span) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "stories last minutes, not centuries")]
    let micros = span.micros() as f64;
    micros / 1_000_000.0
}
