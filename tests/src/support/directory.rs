//! Where everything of the demo or of chaos lies while it runs: a directory that is kept, or one that goes at the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// Where everything lies while it runs.
#[derive(Debug)]
pub enum Directory {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Directory {
    /// `kept` is empty or absent; without it, a temporary directory whose name starts with `prefix`.
    pub fn make(prefix: &str, kept: Option<PathBuf>) -> anyhow::Result<Self> {
        let Some(path) = kept else {
            let mut builder = tempfile::Builder::new();
            // SUBTLE: others may pass through it. Started by root, the private Postgres runs as another user and has to
            // reach its own directory below.
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            let temporary = builder.prefix(prefix).permissions(open).tempdir();
            return Ok(Self::Temporary(
                temporary.context("cannot make a temporary directory")?,
            ));
        };
        let context = || format!("cannot use {}", path.display());
        fs::create_dir_all(&path).with_context(context)?;
        ensure!(
            fs::read_dir(&path).with_context(context)?.next().is_none(),
            "{} is not empty; what an earlier run left there would be counted again, so name another",
            path.display()
        );
        Ok(Self::Kept(path))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }
}
