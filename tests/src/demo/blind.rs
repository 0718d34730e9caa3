//! The worker without Deed, as teams write it: a list of what is done that all workers share, looked at before and
//! written after, and a retry wherever no good answer came.
//!
//! It is meant to be fair: it checks first, respects the receiver's retry-after, has a timeout, backs off and gives up
//! in the end. What it lacks is an owner, and a question between a lost answer and the next send.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::invoice::Invoice;
use super::plan::SEND_TIMEOUT;
use super::said::{End, Finished};
use crate::receiver::{Applied, Call, ReceiverClient};

/// Nobody retries for ever. At the demo's odds ten tries all fail for one invoice in a million runs.
const TRIES: u32 = 10;

/// Between tries where the receiver names no time.
const BACKOFF: Duration = Duration::from_millis(30);

/// Works off the offers.
pub async fn work(offers: &[Invoice], receiver: SocketAddr, done: &Path) -> anyhow::Result<()> {
    let receiver = ReceiverClient::new(receiver, SEND_TIMEOUT)?;
    let done = DoneFile(done.to_owned());
    for invoice in offers {
        let start = Instant::now();
        let end = if done.holds(&invoice.invoice_id)? {
            End::FoundDone
        } else if create(&receiver, invoice).await {
            done.add(&invoice.invoice_id)?;
            End::Acted
        } else {
            End::GaveUp
        };
        Finished::say(&invoice.invoice_id, end, start.elapsed())?;
    }
    Ok(())
}

/// Whether the receiver said that it is done.
async fn create(receiver: &ReceiverClient, invoice: &Invoice) -> bool {
    for _ in 0..TRIES {
        let pause = match receiver.apply(&invoice.effect()).await {
            Call::Answered(Applied::Done { .. } | Applied::Accepted { .. }) => return true,
            Call::Answered(Applied::NotNow { retry_after, .. }) => retry_after,
            // A refusal would be final; the demo's receiver refuses nothing.
            Call::Answered(Applied::Refused { .. }) => return false,
            Call::Answered(Applied::KeyInProgress | Applied::Failed { .. })
            | Call::NotSent { .. }
            | Call::Unknown { .. } => BACKOFF,
        };
        tokio::time::sleep(pause).await;
    }
    false
}

/// One invoice id a line, shared by all workers.
struct DoneFile(PathBuf);

impl DoneFile {
    fn holds(&self, invoice_id: &str) -> anyhow::Result<bool> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(text.lines().any(|line| line == invoice_id)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.0.display())),
        }
    }

    /// One write in append mode, so that lines of different workers never mix.
    fn add(&self, invoice_id: &str) -> anyhow::Result<()> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.0)
            .and_then(|mut file| file.write_all(format!("{invoice_id}\n").as_bytes()))
            .with_context(|| format!("cannot write {}", self.0.display()))
    }
}
