//! One cell with its own receiver: started, and counted at the end.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::scale::Scale;
use super::setting::{Cell, Keys};
use super::tally::{Episode, Tally};
use crate::receiver::{
    Admission, AnswerFault, Dials, EffectRequest, Options, Receiver, ReceiverClient, draw_fault,
};

/// A cell's own outside world.
pub struct World {
    pub cell: Cell,
    pub scale: Scale,
    pub client: ReceiverClient,
    /// Sends without an answer in time.
    pub timeouts: Arc<AtomicU64>,
    receiver: Receiver,
}

impl World {
    pub async fn start(cell: Cell, scale: Scale) -> anyhow::Result<Self> {
        let options = Options {
            dials: cell.trouble.dials(&scale),
            ..Options::default()
        };
        let receiver = Receiver::start_with(options).await?;
        Ok(Self {
            cell,
            scale,
            client: receiver.client(scale.answer_timeout)?,
            timeouts: Arc::default(),
            receiver,
        })
    }

    /// Holds the episodes against the ledger.
    pub fn count(&self, episodes: &[Episode], seeds: &RangeInclusive<u64>) -> (Cell, Tally) {
        let mut tally = Tally::count(self.cell.task, episodes, &self.receiver.ledger());
        let dials = self.cell.trouble.dials(&self.scale);
        let mut meant = 0;
        for seed in seeds.clone() {
            for step in self.cell.task.steps() {
                let business_id = self.cell.task.business_id(seed, step);
                let request = EffectRequest::new(&business_id, step.tool, &step.parts);
                let sends = self.receiver.requests(&business_id);
                tally.sends += sends;
                meant += (1..=sends)
                    .filter(|nth| self.meant(&dials, &request, *nth))
                    .count() as u64;
            }
        }
        // A key that is honoured answers at once where a fault was drawn, so nothing can be said there.
        if self.cell.trouble.keys() == Keys::Ignored {
            tally.stray_timeouts = self.timeouts.load(Ordering::Relaxed).saturating_sub(meant);
        }
        (self.cell, tally)
    }

    /// Whether the receiver means to answer this request too late.
    fn meant(&self, dials: &Dials, request: &EffectRequest, nth: u64) -> bool {
        let fault = draw_fault(dials, request, nth);
        let late = fault.answer != AnswerFault::Honest
            || u128::from(fault.apply_after_ms) > self.scale.answer_timeout.as_millis();
        late && fault.admission == Admission::Admitted
    }
}
