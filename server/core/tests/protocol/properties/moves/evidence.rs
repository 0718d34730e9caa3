//! What the players of a random world report and find: likely and unlikely, fitting and contradictory.

use deed_core::command::Ask;
use deed_core::evidence::{Observation, Receipt, Seen, Verdict};
use deed_core::id::Token;
use deed_core::text::{ExternalId, Note};
use deed_core::time::Span;

use super::Player;
use crate::world::*;

/// Few, so that two actions and two attempts meet under one id.
const IDS: [&str; 4] = ["J1", "J2", "J3", "J4"];

impl Player {
    pub(super) fn id(&mut self) -> Option<ExternalId> {
        self.dice
            .percent(70)
            .then(|| external(IDS[usize::try_from(self.dice.below(4)).unwrap()]))
    }

    pub(super) fn report(&mut self, token: Token) -> Ask {
        let (receipt, then) = (self.receipt(), self.then());
        Ask::Report {
            token,
            receipt,
            then,
            spec: None,
        }
    }

    pub(super) fn receipt(&mut self) -> Receipt {
        match self.dice.below(100) {
            0..9 => Receipt::Completed {
                external_id: self.id(),
                result: None,
            },
            9..24 => Receipt::Accepted {
                external_id: self.id(),
                retry_after: Span::from_millis(self.dice.below(10_000)),
            },
            24..30 => rejected("card refused"),
            30..48 => not_applied(self.dice.below(30)),
            48..60 => not_sent(),
            60..75 => unknown_ended(),
            _ => unknown(),
        }
    }

    pub(super) fn verify(&mut self, token: Token) -> Ask {
        let (observation, then) = (self.observation(), self.then());
        Ask::Verify {
            token,
            observation,
            then,
        }
    }

    pub(super) fn observe(&mut self) -> Ask {
        let observation = self.observation();
        Ask::Observe { observation }
    }

    pub(super) fn observation(&mut self) -> Observation {
        let verdict = match self.dice.below(100) {
            0..6 => Verdict::Confirmed {
                external_id: self.id(),
                result: None,
            },
            6..36 => Verdict::NotFound,
            36..52 => Verdict::Pending {
                retry_after: self.dice.percent(70).then(|| secs(self.dice.below(20))),
            },
            52..66 => Verdict::Failed {
                external_id: self.id(),
                attempt: self
                    .dice
                    .percent(60)
                    .then(|| u32::try_from(1 + self.dice.below(4)).unwrap()),
                reason: Note::none(),
            },
            66..80 => Verdict::Partial,
            _ => Verdict::Unknown { reason: Note::none() },
        };
        self.fitting(verdict, 4)
    }

    /// The verdict with facts that fit it, but for so many in a hundred.
    pub(super) fn fitting(&mut self, verdict: Verdict, odd_ones: u64) -> Observation {
        let declared = self.world.spec.expected.facts.clone();
        let mut observation = found(verdict);
        for (at, name) in declared.into_iter().enumerate() {
            let fitting = match observation.verdict {
                Verdict::Confirmed { .. } => Seen::True,
                Verdict::NotFound | Verdict::Failed { .. } => Seen::False,
                Verdict::Partial if at == 0 => Seen::True,
                Verdict::Partial => Seen::False,
                Verdict::Pending { .. } | Verdict::Unknown { .. } => Seen::NotSeen,
            };
            let odd = *self.dice.pick(&[Seen::True, Seen::False, Seen::NotSeen]);
            let seen = if self.dice.percent(odd_ones) { odd } else { fitting };
            observation.facts.insert(name, seen);
        }
        observation
    }
}
