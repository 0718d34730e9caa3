//! A worker's own log: what it knew, when, line by line, through all its lives.
//!
//! One write for each line, in append mode, before the worker goes on: what was logged before a kill stays logged. A kill
//! in the middle of a line leaves half of one, which was never said.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One line. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Line {
    /// A new life, with a new owner's name.
    Started { at_ms: i64, owner: String },
    /// Right before a send, under this token.
    Sending {
        at_ms: i64,
        action: String,
        token: u64,
        attempt: u32,
        /// What the guard leaves it; 0 where the lease was lost during the preparation.
        left_ms: u64,
    },
    /// The send is over; this is the receipt that goes to Deed.
    Sent {
        at_ms: i64,
        action: String,
        token: u64,
        receipt: String,
    },
    /// A lookup is over; this goes to Deed.
    Looked {
        at_ms: i64,
        action: String,
        token: u64,
        verdict: String,
    },
    /// One `perform`, or one blind round, came back.
    Ended {
        at_ms: i64,
        action: String,
        end: End,
        /// The tokens under which evidence was handed in, which Deed has acknowledged.
        acknowledged: Vec<u64>,
    },
}

/// How it came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Settled {
        state: String,
        effect_id: String,
    },
    Blocked {
        reason: String,
    },
    /// Asked again later.
    Open,
    /// Deed was not there.
    Unanswered,
    /// An error that no worker of these fleets should ever get.
    Refused {
        error: String,
    },
    /// The blind worker believes that it is done, or has given up.
    Believed {
        done: bool,
    },
}

impl End {
    /// Whether the worker leaves the action alone from here on.
    pub fn final_here(&self) -> bool {
        matches!(
            self,
            Self::Settled { .. } | Self::Blocked { .. } | Self::Believed { .. }
        )
    }
}

/// Writes a log.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().create(true).append(true).open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        // SUBTLE: a line that a kill cut in half must not swallow the first one of this life.
        file.write_all(b"\n")?;
        Ok(Self(file))
    }

    pub fn write(&self, line: &Line) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        Ok((&self.0).write_all(text.as_bytes())?)
    }
}

/// What was logged; nothing where there is no log yet.
pub fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Milliseconds since 1970. Everything runs on one machine, so everybody's are the same.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_was_never_said_and_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("worker.jsonl");
        assert!(read(&path).unwrap().is_empty());
        let started = |owner: &str| Line::Started {
            at_ms: 1,
            owner: owner.to_owned(),
        };
        Log::open(&path).unwrap().write(&started("a")).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(br#"{"what":"sta"#).unwrap();
        Log::open(&path).unwrap().write(&started("b")).unwrap();
        assert_eq!(read(&path).unwrap(), [started("a"), started("b")]);
    }
}
