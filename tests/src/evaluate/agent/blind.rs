//! Blind retry: no good answer, so it sends the same again.

use super::{Agent, Sent, StepEnd, all_parts};
use crate::evaluate::scale::SENDS;
use crate::evaluate::task::Step;

impl Agent {
    pub(super) async fn blindly(&self, step: &Step) -> StepEnd {
        let request = self.request(step, &all_parts(step));
        let mut unclear = false;
        for _ in 0..SENDS {
            match self.send(&request).await {
                Sent::Whole => return StepEnd::Done,
                Sent::Nothing => {}
                Sent::Unclear => unclear = true,
            }
        }
        if unclear {
            StepEnd::Undecided("no good answer to either send".to_owned())
        } else {
            StepEnd::Failed
        }
    }
}
