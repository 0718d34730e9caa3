//! How an admitted request becomes an effect: past the `gate`, then at once, late, or as one of the `jobs`.

use std::sync::Arc;

use super::dials::{Fencing, Mode};
use super::gate::above_floor;
use super::ledger::{Application, Entry};
use super::messages::EffectAnswer;
use super::world::{Outcome, Passage, World};

impl World {
    /// Carries out what was admitted and says what an honest answer is.
    pub(super) async fn carry_out(self: &Arc<Self>, passage: &Passage) -> Outcome<EffectAnswer> {
        let Passage { request, fault, .. } = passage;
        let mode = {
            let mut state = self.lock();
            if let Err((status, body)) = self.take_token(&mut state, request) {
                return Outcome::Error(status, body);
            }
            if let Some(outcome) = self.take_key(&mut state, request) {
                return outcome;
            }
            state.dials.mode
        };
        match mode {
            Mode::Synchronous => {
                if fault.apply_after_ms > 0 {
                    self.delay(&request.business_id, passage.released, fault.apply_after_ms)
                        .await;
                }
                self.land(passage, None)
            }
            Mode::Asynchronous { queued_ms, run_ms } => self.accept(passage, queued_ms, run_ms),
        }
    }

    /// Brings the effect about; a job's effect bears the job's id.
    pub(super) fn land(&self, passage: &Passage, job: Option<String>) -> Outcome<EffectAnswer> {
        let Passage { request, fault, .. } = passage;
        let mut state = self.lock();
        if state.epoch != passage.epoch {
            return Outcome::Cut;
        }
        // SUBTLE: checked again. A lookup may have raised the floor while the command waited, and absence was believed
        // on the strength of it (scenario C6).
        if let Some(token) = request.fencing_token
            && state.dials.fencing != Fencing::Ignored
            && let Err((status, body)) = above_floor(&state, &request.business_id, token)
        {
            if let Some(key) = &request.idempotency_key {
                state.keys_in_progress.remove(key);
            }
            return Outcome::Error(status, body);
        }
        let now_ms = self.now_ms();
        let mut parts = request.asked_parts();
        if let Some(only) = &fault.only_parts {
            parts.retain(|part| only.contains(part));
        }
        let place = fault
            .place
            .clone()
            .unwrap_or_else(|| request.asked_place().to_owned());
        let application = Application {
            external_id: job.clone().unwrap_or_else(|| state.ledger.next_external_id()),
            business_id: request.business_id.clone(),
            kind: request.kind.clone(),
            parts: parts.clone(),
            in_right_place: place == request.asked_place(),
            place,
            amount: request.amount,
            idempotency_key: request.idempotency_key.clone(),
            fencing_token: request.fencing_token,
            applied_at_ms: now_ms,
            hidden_until_ms: if fault.hide_ms == 0 {
                0
            } else {
                now_ms.saturating_add(fault.hide_ms)
            },
            hidden_lookups: fault.hide_lookups,
        };
        let external_id = application.external_id.clone();
        let answer = EffectAnswer {
            external_id,
            applied: parts,
            replayed: false,
            retry_after_ms: None,
        };
        let kept = if job.is_none() {
            self.keep(&mut state, request, &answer)
        } else {
            None
        };
        self.record(&mut state, Entry::Applied { application, kept });
        Outcome::Answer(answer)
    }
}
