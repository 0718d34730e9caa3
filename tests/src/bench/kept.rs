//! What is kept between runs, in one file beside the page: each command replaces its own part.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::growth::Growth;
use super::results::Results;
use super::soak::Soak;
use super::xmin::Held;

/// The file.
pub const FILE: &str = "performance.json";

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub bench: Option<Results>,
    pub growth: Option<Growth>,
    pub soak: Option<Soak>,
    pub held: Option<Held>,
}

impl Kept {
    /// What earlier runs have left in the directory.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| {
                format!(
                    "{} is of another make; remove it and measure again",
                    path.display()
                )
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    pub fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let path = directory.join(FILE);
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
