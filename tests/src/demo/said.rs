//! What a worker tells the controller: one JSON line on its standard output for every offer that it is done with.
//!
//! A worker that is killed in the middle of a line leaves half of one; that line was never said.

use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An offer is finished, for this worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    pub invoice_id: String,
    pub end: End,
    /// From when this worker first took the invoice up, in microseconds.
    pub took_us: u64,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// This worker did something for it: sent, or looked up.
    Acted,
    /// It was done already.
    FoundDone,
    /// The blind worker has tried often enough.
    GaveUp,
    /// Deed says that a person is needed.
    Blocked,
}

impl Finished {
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.took_us)
    }

    /// Writes the line at once: what was said before a kill stays said.
    pub fn say(invoice_id: &str, end: End, took: Duration) -> anyhow::Result<()> {
        let finished = Self {
            invoice_id: invoice_id.to_owned(),
            end,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        };
        let mut line = serde_json::to_string(&finished)?;
        line.push('\n');
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(line.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// What a line says; nothing where it is half of one.
    pub fn heard(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}
