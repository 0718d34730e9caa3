//! The gate before an effect: fencing tokens and idempotency keys, where the dials honour them.
//!
//! Owns who is let through and what a key replays. What happens behind the gate is `landing`'s part.

use super::dials::{Fencing, Idempotency, StoredRefusals};
use super::ledger::{Entry, KeptAnswer};
use super::messages::{EffectAnswer, EffectRequest, ErrorBody, FencingToken};
use super::world::{Outcome, State, World, error};

/// A status and its body.
pub(super) type Refusal = (u16, ErrorBody);

impl World {
    /// Lets a lookup's token raise the floor, or refuses it.
    pub(super) fn show_token(
        &self,
        state: &mut State,
        business_id: &str,
        token: FencingToken,
    ) -> Result<(), Refusal> {
        if state.dials.fencing != Fencing::EffectsAndLookups {
            return Ok(());
        }
        above_floor(state, business_id, token)?;
        self.record(
            state,
            Entry::TokenSeen {
                business_id: business_id.to_owned(),
                token,
            },
        );
        Ok(())
    }

    /// Lets a request's token through, once.
    pub(super) fn take_token(&self, state: &mut State, request: &EffectRequest) -> Result<(), Refusal> {
        if state.dials.fencing == Fencing::Ignored {
            return Ok(());
        }
        let business_id = &request.business_id;
        let token = request.fencing_token.ok_or_else(|| {
            (
                400,
                error(
                    "token_missing",
                    "this receiver applies nothing without a fencing token",
                    None,
                ),
            )
        })?;
        above_floor(state, business_id, token)?;
        if state
            .ledger
            .used_tokens
            .get(business_id)
            .is_some_and(|used| used.contains(&token))
        {
            return Err((
                409,
                error(
                    "used_token",
                    "this fencing token has been used; nothing was done",
                    None,
                ),
            ));
        }
        self.record(
            state,
            Entry::TokenSeen {
                business_id: business_id.clone(),
                token,
            },
        );
        self.record(
            state,
            Entry::TokenUsed {
                business_id: business_id.clone(),
                token,
            },
        );
        Ok(())
    }

    /// Marks the key as in progress, or gives the answer that it stands for.
    pub(super) fn take_key(
        &self,
        state: &mut State,
        request: &EffectRequest,
    ) -> Option<Outcome<EffectAnswer>> {
        let Idempotency::Honoured { retention_ms, .. } = state.dials.idempotency else {
            return None;
        };
        let key = request.idempotency_key.as_ref()?;
        let kept = state.ledger.kept_answers.get(key);
        if let Some(kept) =
            kept.filter(|kept| self.now_ms() < kept.answered_at_ms.saturating_add(retention_ms))
        {
            if !kept.request.asks_the_same(request) {
                let message =
                    "this idempotency key belongs to a request for another effect; nothing was done";
                return Some(Outcome::Error(422, error("key_reused", message, None)));
            }
            return Some(match kept.answer.clone() {
                Ok(answer) => Outcome::Answer(EffectAnswer {
                    replayed: true,
                    ..answer
                }),
                Err((status, body)) => Outcome::Error(status, body),
            });
        }
        if !state.keys_in_progress.insert(key.clone()) {
            let message = "the first request with this idempotency key is still under way";
            return Some(Outcome::Error(409, error("key_in_progress", message, None)));
        }
        self.changed();
        None
    }

    /// Answers a request with a refusal, which its key may replay later.
    pub(super) fn refuse(
        &self,
        request: &EffectRequest,
        status: u16,
        body: ErrorBody,
    ) -> Outcome<EffectAnswer> {
        let mut state = self.lock();
        if let Idempotency::Honoured {
            refusals: StoredRefusals::Replayed,
            ..
        } = state.dials.idempotency
            && request.idempotency_key.is_some()
        {
            let answer = Err((status, body.clone()));
            let kept = KeptAnswer {
                request: request.clone(),
                answer,
                answered_at_ms: self.now_ms(),
            };
            self.record(&mut state, Entry::RefusalKept { kept });
        }
        Outcome::Error(status, body)
    }

    /// What the request's key replays from now on; the key is no longer in progress.
    pub(super) fn keep(
        &self,
        state: &mut State,
        request: &EffectRequest,
        answer: &EffectAnswer,
    ) -> Option<KeptAnswer> {
        let key = request.idempotency_key.as_ref()?;
        state.keys_in_progress.remove(key);
        let Idempotency::Honoured { .. } = state.dials.idempotency else {
            return None;
        };
        Some(KeptAnswer {
            request: request.clone(),
            answer: Ok(answer.clone()),
            answered_at_ms: self.now_ms(),
        })
    }
}

/// Whether nothing newer has been seen.
pub(super) fn above_floor(state: &State, business_id: &str, token: FencingToken) -> Result<(), Refusal> {
    match state.ledger.floors.get(business_id) {
        Some(floor) if token < *floor => {
            let message =
                format!("fencing token {token} is below {floor}, which was seen since; nothing was done");
            Err((412, error("stale_token", &message, None)))
        }
        _ => Ok(()),
    }
}
