//! The journal: the ledger's entries on disk, one JSON line each, only ever appended.
//!
//! It survives the death of the process, not of the machine: lines reach the kernel before anybody is answered, but are
//! not forced to the disk, since the chaos that it serves kills processes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::ledger::{Entry, Ledger};

/// The open file, positioned at its end.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens or creates the file and adds up what it holds. A last line that a crash cut short was never answered and is
    /// cut off; any other unreadable line is an error that names it.
    pub fn open(path: &Path) -> io::Result<(Self, Ledger)> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;

        let mut ledger = Ledger::default();
        for (number, line) in text[..whole].lines().enumerate() {
            let entry: Entry = serde_json::from_str(line).map_err(|error| {
                let message = format!(
                    "line {} of {} is no ledger entry: {error}",
                    number + 1,
                    path.display()
                );
                io::Error::new(io::ErrorKind::InvalidData, message)
            })?;
            ledger.record(entry);
        }
        Ok((Self(file), ledger))
    }

    /// Appends one entry in one write, so that a killed process leaves at most one cut line.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> io::Result<()> {
        self.0.set_len(0)
    }
}
