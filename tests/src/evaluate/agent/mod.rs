//! The scripted agents: one step after the other, until one of them does not end as done.
//!
//! Owns what an agent believes at its end. It never looks at the ledger: `tally` holds the belief against it.

mod blind;
mod deed;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use deed_client::Deed;

use super::scale::Scale;
use super::setting::{Arm, Cell};
use super::task::Step;
use crate::receiver::{Applied, Call, Doubt, EffectRequest, LookupRequest, ReceiverClient, Seen};

/// What an agent believes at its end. The steps before the named one are done, those after it were not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// The step has no effect, as far as the agent believes.
    Failed {
        step: usize,
    },
    /// The agent does not know, or leaves the rest of the step to a person; `why` says so in a word or two.
    Undecided {
        step: usize,
        why: String,
    },
}

/// The same of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StepEnd {
    Done,
    Failed,
    Undecided(String),
}

/// One worker in one episode.
#[derive(Clone, Debug)]
pub struct Agent {
    pub cell: Cell,
    pub seed: u64,
    pub receiver: ReceiverClient,
    pub deed: Deed,
    pub scale: Scale,
    /// Sends without an answer in time, of all agents of the cell.
    pub timeouts: Arc<AtomicU64>,
}

impl Agent {
    /// Does the task.
    pub async fn run(&self) -> anyhow::Result<End> {
        for (number, step) in self.cell.task.steps().iter().enumerate() {
            let ended = match self.cell.arm {
                Arm::Blind => self.blindly(step).await,
                Arm::Verify => self.verifying(step).await,
                Arm::Deed => self.with_deed(step).await?,
            };
            match ended {
                StepEnd::Done => {}
                StepEnd::Failed => return Ok(End::Failed { step: number }),
                StepEnd::Undecided(why) => return Ok(End::Undecided { step: number, why }),
            }
        }
        Ok(End::Done)
    }

    fn business_id(&self, step: &Step) -> String {
        self.cell.task.business_id(self.seed, step)
    }

    /// A request for these parts, with a key that is the same for every attempt of every worker.
    fn request(&self, step: &Step, parts: &[String]) -> EffectRequest {
        let business_id = self.business_id(step);
        let key = business_id.clone();
        EffectRequest {
            parts: parts.to_vec(),
            ..EffectRequest::new(&business_id, step.tool, &[]).with_key(&key)
        }
    }

    /// One send of any arm.
    async fn apply(&self, request: &EffectRequest) -> Call<Applied> {
        let call = self.receiver.apply(request).await;
        if let Call::Unknown {
            reason: Doubt::TimedOut,
            ..
        } = call
        {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        call
    }

    /// One send of the two arms without Deed.
    async fn send(&self, request: &EffectRequest) -> Sent {
        match self.apply(request).await {
            Call::Answered(Applied::Done { applied, .. }) if applied.len() == request.parts.len() => {
                Sent::Whole
            }
            Call::Answered(Applied::Refused { .. } | Applied::NotNow { .. }) | Call::NotSent { .. } => {
                Sent::Nothing
            }
            Call::Answered(
                Applied::Done { .. }
                | Applied::Accepted { .. }
                | Applied::KeyInProgress
                | Applied::Failed { .. },
            )
            | Call::Unknown { .. } => Sent::Unclear,
        }
    }

    /// One look of the arm that trusts it: the parts that it does not see.
    async fn missing(&self, step: &Step) -> Option<Vec<String>> {
        let lookup = LookupRequest {
            business_id: self.business_id(step),
            facts: Some(step.parts.join(",")),
            ..LookupRequest::default()
        };
        let Call::Answered(Seen::Found(found)) = self.receiver.look_up(&lookup).await else {
            return None;
        };
        let unseen = |part: &&str| found.facts.get(*part) != Some(&true);
        Some(
            step.parts
                .iter()
                .copied()
                .filter(unseen)
                .map(str::to_owned)
                .collect(),
        )
    }
}

/// What a send told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Whole,
    /// The receiver says that it did nothing.
    Nothing,
    /// No answer, or one that does not say that everything is there.
    Unclear,
}

fn all_parts(step: &Step) -> Vec<String> {
    step.parts.iter().map(|part| (*part).to_owned()).collect()
}
