//! Everything that is read from files before the first caller comes, and again whenever it changes.

use std::path::{Path, PathBuf};

use super::refresh::Files;
use super::tls::{Tls, TlsError, TlsFiles};
use super::{FileError, Keeper, Policy, load};

/// Why the doors cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorsError {
    /// The auth file.
    #[error("the auth file cannot be used")]
    Auth(#[from] FileError),
    /// Certificates and keys.
    #[error("TLS cannot be spoken")]
    Tls(#[from] TlsError),
}

/// Who is let in, and how.
pub struct Doors {
    /// Says who is who and who may do what.
    pub keeper: Keeper,
    /// TLS; none for plain text.
    pub tls: Option<Tls>,
    /// What to look at again.
    pub files: Vec<Files>,
}

impl Doors {
    /// Reads the files. Without an auth file everybody is `local` and may do everything.
    pub fn open(auth: Option<&Path>, tls: Option<&TlsFiles>) -> Result<Self, DoorsError> {
        let mut files = Vec::new();
        let keeper = match auth {
            None => Keeper::new(Policy::local()),
            Some(path) => policy(path, &mut files)?,
        };
        let tls = match tls {
            None => None,
            Some(tls) => Some(configuration(tls.clone(), &mut files)?),
        };
        Ok(Self { keeper, tls, files })
    }
}

fn policy(path: &Path, files: &mut Vec<Files>) -> Result<Keeper, FileError> {
    let path = path.to_path_buf();
    let (first, paths) = load(&path);
    let keeper = Keeper::new(first?);
    let kept = keeper.clone();
    files.push(Files::new("auth file and JWKS", paths, move || {
        let (next, paths) = load(&path);
        (next.map(|policy| kept.enact(policy)), paths)
    }));
    Ok(keeper)
}

fn configuration(tls: TlsFiles, files: &mut Vec<Files>) -> Result<Tls, TlsError> {
    let paths: Vec<PathBuf> = tls.paths();
    let current = Tls::new(tls.load()?);
    let kept = current.clone();
    files.push(Files::new("certificates", paths.clone(), move || {
        let next = tls.load().map(|config| kept.replace(config));
        (next, paths.clone())
    }));
    Ok(current)
}
