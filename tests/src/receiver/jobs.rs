//! Jobs: what the asynchronous mode makes of an admitted request.
//!
//! Owns a job's life from acceptance to its end, across restarts of the process. The effect itself is `landing`'s part.

use std::sync::Arc;

use super::ledger::{Entry, Job};
use super::messages::{EffectAnswer, JobStatus};
use super::world::{Outcome, Passage, World};

impl World {
    /// Takes the command and answers before it is carried out.
    pub(super) fn accept(
        self: &Arc<Self>,
        passage: &Passage,
        queued_ms: u64,
        run_ms: u64,
    ) -> Outcome<EffectAnswer> {
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
}
