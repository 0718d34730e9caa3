//! The worker without Deed, as teams write it: a list of what is done that all workers share, looked at before and
//! written after, and a retry wherever no good answer came.
//!
//! It is meant to be fair: it checks first, respects the receiver's retry-after, has a timeout, backs off and gives up
//! in the end. What it lacks is an owner, and a question between a lost answer and the next send.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use super::invoice::Invoice;
use super::plan::SEND_TIMEOUT;
use super::said::{End, Finished};
use crate::receiver::ReceiverClient;
use crate::support::blind::{DoneFile, insist};

/// Works off the offers.
pub async fn work(offers: &[Invoice], receiver: SocketAddr, done: &Path) -> anyhow::Result<()> {
    let receiver = ReceiverClient::new(receiver, SEND_TIMEOUT)?;
    let done = DoneFile::at(done);
    for invoice in offers {
        let start = Instant::now();
        let end = if done.holds(&invoice.invoice_id)? {
            End::FoundDone
        } else if insist(&receiver, &invoice.effect()).await {
            done.add(&invoice.invoice_id)?;
            End::Acted
        } else {
            End::GaveUp
        };
        Finished::say(&invoice.invoice_id, end, start.elapsed())?;
    }
    Ok(())
}
