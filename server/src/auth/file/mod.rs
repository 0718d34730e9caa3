//! The auth file: principals with their roles, what proves to be each of them, and the issuer of JWTs.
//!
//! ```toml
//! [[principal]]
//! name = "billing-worker"
//! tokens = ["sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]
//! certificates = ["uri:spiffe://shop/billing", "dns:billing.shop.internal"]
//! subjects = ["billing"]                      # the `sub` of JWTs
//! roles = { billing = ["worker"], "*" = ["viewer"] }
//!
//! [jwt]
//! keys = "jwks.json"                          # beside this file, unless absolute
//! issuer = "https://issuer.example"
//! audience = "deed"
//! leeway = "30s"
//! ```
//!
//! It is refused as a whole for a single mistake, with the line: half of an access list is none.

mod parse;

use std::io;
use std::path::{Path, PathBuf};

use super::jwt::{KeysError, Verifier};
use super::{Member, Policy};
use parse::Draft;

/// Why an auth file is refused.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It says something wrong.
    #[error("{}:{line}: {what}", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What is wrong. Never a value of the file, which may be a secret in the wrong place.
        what: String,
    },
    /// The JWKS cannot be used.
    #[error("{} {source}", path.display())]
    Keys {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: KeysError,
    },
}

/// Reads the file and the JWKS that it names. The second part is which files were asked for, whether or not they could be
/// used: what they say may change.
pub fn load(path: &Path) -> (Result<Policy, FileError>, Vec<PathBuf>) {
    let mut asked = vec![path.to_path_buf()];
    let policy = read(path)
        .and_then(|text| draft(path, &text))
        .and_then(|draft| policy(path, draft, &mut asked));
    (policy, asked)
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|source| FileError::Unreadable {
        path: path.to_path_buf(),
        source,
    })
}

fn draft(path: &Path, bytes: &[u8]) -> Result<Draft, FileError> {
    let wrong = |line, what| FileError::Wrong {
        path: path.to_path_buf(),
        line,
        what,
    };
    let text = std::str::from_utf8(bytes).map_err(|_| wrong(1, "the file is not UTF-8".to_owned()))?;
    parse::parse(text).map_err(|mistake| {
        let before = text.as_bytes().get(..mistake.at).unwrap_or(bytes);
        wrong(
            1 + before.iter().filter(|byte| **byte == b'\n').count(),
            mistake.what,
        )
    })
}

fn policy(path: &Path, draft: Draft, asked: &mut Vec<PathBuf>) -> Result<Policy, FileError> {
    let mut policy = draft.policy;
    if let Some((keys, settings)) = draft.jwt {
        let keys = path.parent().unwrap_or(Path::new("")).join(keys);
        asked.push(keys.clone());
        let verifier = Verifier::new(settings, &read(&keys)?);
        policy.jwt = Some(verifier.map_err(|source| FileError::Keys { path: keys, source })?);
    }
    Ok(policy)
}
