//! How teams act without Deed: a list of what is done that all workers share, and a retry wherever no good answer came.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::receiver::{Applied, Call, EffectRequest, ReceiverClient};

/// Nobody retries for ever. At the demo's odds ten tries all fail for one effect in a million runs.
const TRIES: u32 = 10;

/// Between tries where the receiver names no time.
const BACKOFF: Duration = Duration::from_millis(30);

/// Sends until the receiver answers, or for long enough; whether it said that it is done.
pub async fn insist(receiver: &ReceiverClient, effect: &EffectRequest) -> bool {
    for _ in 0..TRIES {
        let pause = match receiver.apply(effect).await {
            Call::Answered(Applied::Done { .. } | Applied::Accepted { .. }) => return true,
            Call::Answered(Applied::NotNow { retry_after, .. }) => retry_after,
            // A refusal would be final; these receivers refuse nothing.
            Call::Answered(Applied::Refused { .. }) => return false,
            Call::Answered(Applied::KeyInProgress | Applied::Failed { .. })
            | Call::NotSent { .. }
            | Call::Unknown { .. } => BACKOFF,
        };
        tokio::time::sleep(pause).await;
    }
    false
}

/// One business id a line, shared by all workers.
#[derive(Clone, Debug)]
pub struct DoneFile(PathBuf);

impl DoneFile {
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn holds(&self, business_id: &str) -> anyhow::Result<bool> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(text.lines().any(|line| line == business_id)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.0.display())),
        }
    }

    /// One write in append mode, so that lines of different workers never mix.
    pub fn add(&self, business_id: &str) -> anyhow::Result<()> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.0)
            .and_then(|mut file| file.write_all(format!("{business_id}\n").as_bytes()))
            .with_context(|| format!("cannot write {}", self.0.display()))
    }
}
