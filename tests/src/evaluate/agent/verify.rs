//! The published wrapper as far as it is known: before it sends again it looks once, and believes what it sees.
//!
//! In its favour: what it sees to be partial it completes instead of repeating it, it looks after its last send too, and
//! among several workers it looks before its first send.

use super::{Agent, Sent, StepEnd, all_parts};
use crate::evaluate::scale::SENDS;
use crate::evaluate::task::Step;

impl Agent {
    pub(super) async fn verifying(&self, step: &Step) -> StepEnd {
        let whole = all_parts(step);
        let mut missing = whole.clone();
        if self.cell.workers > 1 {
            missing = self.missing(step).await.unwrap_or(missing);
        }
        for _ in 0..SENDS {
            if missing.is_empty() || self.send(&self.request(step, &missing)).await == Sent::Whole {
                return StepEnd::Done;
            }
            match self.missing(step).await {
                Some(seen) => missing = seen,
                None => return StepEnd::Undecided("the look found nothing out".to_owned()),
            }
        }
        if missing.is_empty() {
            StepEnd::Done
        } else if missing == whole {
            StepEnd::Failed
        } else {
            StepEnd::Undecided("partial after the retry".to_owned())
        }
    }
}
