//! The receiver's conduct: what one request or lookup meets, from its arrival to its answer.
//!
//! Owns the order of the stages that a fault describes. Every request runs to its end even if its client has gone: a
//! lost connection takes no effect back.

use std::sync::Arc;

use super::dials::{Admission, AnswerFault, LookupFault};
use super::ledger::Entry;
use super::messages::{EffectAnswer, EffectRequest, LookupAnswer, LookupRequest, VERSION_CONFLICT};
use super::odds;
use super::world::{Outcome, Passage, World, error};

impl World {
    /// Treats one request for an effect, from arrival to answer.
    pub async fn apply(self: Arc<Self>, request: EffectRequest) -> Outcome<EffectAnswer> {
        let passage = self.admit(request);
        if let Some(outcome) = self.turn_away(&passage) {
            return outcome;
        }
        let outcome = self.carry_out(&passage).await;
        match passage.fault.answer {
            AnswerFault::Honest => outcome,
            AnswerFault::Dropped => Outcome::Cut,
            AnswerFault::Late { after_ms } => {
                self.delay(&passage.request.business_id, passage.released, after_ms)
                    .await;
                outcome
            }
            AnswerFault::ErrorBody => Outcome::Error(200, error("internal", "something went wrong", None)),
            AnswerFault::Crash => {
                (self.crash)();
                Outcome::Cut
            }
        }
    }

    /// Answers one lookup with what the receiver shows.
    pub async fn look_up(self: Arc<Self>, lookup: LookupRequest) -> Outcome<LookupAnswer> {
        let business_id = lookup.business_id.clone();
        let released = self.released(&business_id);
        let fault = {
            let mut state = self.lock();
            self.record(
                &mut state,
                Entry::LookedUp {
                    business_id: business_id.clone(),
                },
            );
            let nth = state
                .ledger
                .lookups
                .get(&business_id)
                .copied()
                .unwrap_or_default();
            let queued = state
                .queues
                .get_mut(&business_id)
                .and_then(|(_, lookups)| lookups.pop_front());
            queued.unwrap_or_else(|| odds::draw_lookup_fault(&state.dials, &business_id, nth))
        };
        match fault {
            LookupFault::Honest => self.see(&lookup),
            LookupFault::Dropped => Outcome::Cut,
            LookupFault::Maintenance { retry_after_ms } => maintenance(retry_after_ms),
            LookupFault::Late { after_ms } => {
                let outcome = self.see(&lookup);
                self.delay(&business_id, released, after_ms).await;
                outcome
            }
        }
    }

    fn admit(&self, request: EffectRequest) -> Passage {
        // SUBTLE: read before the arrival is recorded; a test that waits for the arrival and then releases would
        // otherwise be too early for the delay that it wants to end.
        let released = self.released(&request.business_id);
        let mut state = self.lock();
        self.record(
            &mut state,
            Entry::EffectRequested {
                business_id: request.business_id.clone(),
            },
        );
        let nth = state
            .ledger
            .requests
            .get(&request.business_id)
            .copied()
            .unwrap_or_default();
        let queued = state
            .queues
            .get_mut(&request.business_id)
            .and_then(|(effects, _)| effects.pop_front());
        let fault = queued.unwrap_or_else(|| odds::draw_fault(&state.dials, &request, nth));
        Passage {
            request,
            fault,
            epoch: state.epoch,
            released,
        }
    }

    /// The answer to a request that goes no further than the door.
    fn turn_away(&self, passage: &Passage) -> Option<Outcome<EffectAnswer>> {
        match passage.fault.admission {
            Admission::Admitted => None,
            Admission::Refused => {
                let refusal = error(
                    "refused",
                    "the receiver does not accept this request; nothing was done",
                    None,
                );
                Some(self.refuse(&passage.request, 422, refusal))
            }
            Admission::RateLimited { retry_after_ms } => {
                let body = error(
                    "rate_limited",
                    "too many requests; nothing was done",
                    Some(retry_after_ms),
                );
                Some(Outcome::Error(429, body))
            }
            Admission::Maintenance { retry_after_ms } => Some(maintenance(retry_after_ms)),
            Admission::Conflict => {
                let message = "the record has changed since it was read; nothing was done";
                Some(Outcome::Error(409, error(VERSION_CONFLICT, message, None)))
            }
            Admission::Dropped => Some(Outcome::Cut),
        }
    }
}

fn maintenance<T>(retry_after_ms: u64) -> Outcome<T> {
    Outcome::Error(
        503,
        error(
            "maintenance",
            "closed for maintenance; nothing was done",
            Some(retry_after_ms),
        ),
    )
}
