//! How an admitted request becomes an effect: fence, idempotency key, and the landing itself, at once, late or as a job.
//!
//! The second half of `World`: the first, `world`, has decided what the request meets on its way.

use std::sync::Arc;

use super::dials::{Fencing, Idempotency, Mode, StoredRefusals};
use super::ledger::{Application, Entry, Job, KeptAnswer};
use super::messages::{EffectAnswer, EffectRequest, ErrorBody, FencingToken, JobStatus};
use super::world::{Outcome, Passage, State, World, error};

/// A status and its body.
type Refusal = (u16, ErrorBody);

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

    /// Takes up the jobs that an earlier process had accepted.
    pub(super) fn resume_jobs(self: &Arc<Self>) {
        let jobs: Vec<Job> = self.read(|ledger| {
            ledger
                .jobs
                .iter()
                .filter(|job| job.under_way())
                .cloned()
                .collect()
        });
        for job in jobs {
            let released = self.released(&job.request.business_id);
            let passage = Passage {
                request: job.request.clone(),
                fault: job.fault.clone(),
                epoch: 0,
                released,
            };
            tokio::spawn(Arc::clone(self).run(job, passage));
        }
    }

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

    fn take_token(&self, state: &mut State, request: &EffectRequest) -> Result<(), Refusal> {
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
    fn take_key(&self, state: &mut State, request: &EffectRequest) -> Option<Outcome<EffectAnswer>> {
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

    fn accept(self: &Arc<Self>, passage: &Passage, queued_ms: u64, run_ms: u64) -> Outcome<EffectAnswer> {
        let Passage { request, fault, .. } = passage;
        let mut state = self.lock();
        let external_id = state.ledger.next_external_id();
        let job = Job {
            external_id: external_id.clone(),
            request: request.clone(),
            fault: fault.clone(),
            queued_ms,
            run_ms: run_ms.saturating_add(fault.apply_after_ms),
            status: JobStatus::Queued,
        };
        let retry_after_ms = Some(job.queued_ms.saturating_add(job.run_ms));
        let answer = EffectAnswer {
            external_id,
            applied: Vec::new(),
            replayed: false,
            retry_after_ms,
        };
        let kept = self.keep(&mut state, request, &answer);
        self.record(
            &mut state,
            Entry::JobAccepted {
                job: job.clone(),
                kept,
            },
        );
        drop(state);
        tokio::spawn(Arc::clone(self).run(job, passage.clone()));
        Outcome::Answer(answer)
    }

    /// A job's life after its acceptance.
    async fn run(self: Arc<Self>, job: Job, passage: Passage) {
        let business_id = &passage.request.business_id;
        if job.status == JobStatus::Queued {
            self.delay(business_id, passage.released, job.queued_ms).await;
            self.move_job(&job, &passage, JobStatus::Pending);
        }
        self.delay(business_id, passage.released, job.run_ms).await;
        if job.fails() {
            self.move_job(&job, &passage, JobStatus::Failed);
        } else if let Outcome::Error(..) = self.land(&passage, Some(job.external_id.clone())) {
            self.move_job(&job, &passage, JobStatus::Failed);
        }
    }

    fn move_job(&self, job: &Job, passage: &Passage, status: JobStatus) {
        let mut state = self.lock();
        if state.epoch == passage.epoch {
            self.record(
                &mut state,
                Entry::JobMoved {
                    external_id: job.external_id.clone(),
                    status,
                },
            );
        }
    }

    /// Brings the effect about; a job's effect bears the job's id.
    fn land(&self, passage: &Passage, job: Option<String>) -> Outcome<EffectAnswer> {
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

    /// What the request's key replays from now on; the key is no longer in progress.
    fn keep(&self, state: &mut State, request: &EffectRequest, answer: &EffectAnswer) -> Option<KeptAnswer> {
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

fn above_floor(state: &State, business_id: &str, token: FencingToken) -> Result<(), Refusal> {
    match state.ledger.floors.get(business_id) {
        Some(floor) if token < *floor => {
            let message =
                format!("fencing token {token} is below {floor}, which was seen since; nothing was done");
            Err((412, error("stale_token", &message, None)))
        }
        _ => Ok(()),
    }
}
