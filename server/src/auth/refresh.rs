//! Reads files again when they change. A new version that is broken is told once and not used; the old one stays in force.
//!
//! Files are compared by what they say, not by their times: those may be coarser than two changes, and a mounted secret is
//! replaced by turning a link around.

use std::error::Error as StdError;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

/// How often files are looked at. Whoever takes a token back is heard within a breath; reading a few small files costs
/// less than a call.
const EVERY: Duration = Duration::from_secs(2);

type Reread = dyn FnMut() -> (Result<(), Box<dyn StdError + Send + Sync>>, Vec<PathBuf>) + Send;

/// Some files that are read together.
pub struct Files {
    what: &'static str,
    paths: Vec<PathBuf>,
    seen: [u8; 32],
    reread: Box<Reread>,
}

impl Files {
    /// Files that have just been read. `reread` reads them again and puts into force what they say, or says why not; and
    /// which files it asked for.
    pub fn new<E>(
        what: &'static str,
        paths: Vec<PathBuf>,
        mut reread: impl FnMut() -> (Result<(), E>, Vec<PathBuf>) + Send + 'static,
    ) -> Self
    where
        E: StdError + Send + Sync + 'static,
    {
        Self {
            what,
            seen: digest(&paths),
            paths,
            reread: Box::new(move || {
                let (done, paths) = reread();
                (done.map_err(Into::into), paths)
            }),
        }
    }

    /// Looks once.
    pub fn look(&mut self) {
        let now = digest(&self.paths);
        if now == self.seen {
            return;
        }
        self.seen = now;
        let (done, paths) = (self.reread)();
        if paths != self.paths {
            self.seen = digest(&paths);
            self.paths = paths;
        }
        match done {
            Ok(()) => tracing::info!(files = self.what, "changed, and in force from now on"),
            Err(error) => {
                let why = with_causes(error.as_ref());
                tracing::warn!(files = self.what, %why, "changed, but cannot be used; what was in force before stays");
            }
        }
    }
}

/// Looks until told to stop.
pub async fn keep_looking(mut files: Vec<Files>, stop: CancellationToken) {
    while !files.is_empty()
        && stop
            .run_until_cancelled(tokio::time::sleep(EVERY))
            .await
            .is_some()
    {
        let looking = tokio::task::spawn_blocking(move || {
            files.iter_mut().for_each(Files::look);
            files
        });
        match looking.await {
            Ok(looked) => files = looked,
            Err(_gone) => return,
        }
    }
}

fn digest(paths: &[PathBuf]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for path in paths {
        match std::fs::read(path) {
            Ok(bytes) => digest.update(Sha256::digest(bytes)),
            Err(error) => digest.update(error.kind().to_string()),
        }
    }
    digest.finalize().into()
}

/// An error and what led to it, in one line.
fn with_causes(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let _infallible = write!(line, ": {next}");
        cause = next.source();
    }
    line
}
