//! Finds an installed Postgres. Owns the order of the search and the choice of a version; downloads nothing.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::Error;

/// Oldest supported major version: what `ARCHITECTURE.md` promises for the store.
pub(super) const OLDEST_MAJOR: u32 = 14;

/// Where Debian and Ubuntu put each major version, away from PATH.
const PACKAGED: &str = "/usr/lib/postgresql";

/// The `bin` directory of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    directory: PathBuf,
    major: u32,
}

/// Where to look.
#[derive(Debug, Clone)]
pub(super) struct Search {
    path: OsString,
    packaged: PathBuf,
}

impl Binaries {
    pub(super) fn initdb(&self) -> PathBuf {
        self.directory.join("initdb")
    }

    pub(super) fn basebackup(&self) -> PathBuf {
        self.directory.join("pg_basebackup")
    }

    pub(super) fn postgres(&self) -> PathBuf {
        self.directory.join("postgres")
    }

    /// The installation in `directory`, if both programs are there and say which version they are.
    fn at(directory: &Path) -> Option<Self> {
        let postgres = fs::canonicalize(directory.join("postgres")).ok()?;
        let directory = postgres.parent()?.to_owned();
        if !directory.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(&postgres)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let major = major(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { directory, major })
    }
}

impl Search {
    /// The search that this process's environment asks for.
    pub(super) fn from_environment() -> Self {
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            packaged: PACKAGED.into(),
        }
    }

    /// The installation to use: the first found, or, for a directory that exists already, the first of the major
    /// version that made it.
    pub(super) fn find(&self, data: &Path) -> Result<Binaries, Error> {
        let found = self.installations();
        if found.is_empty() {
            return Err(Error::NotInstalled {
                packaged: self.packaged.clone(),
            });
        }
        let made_by = fs::read_to_string(data.join("PG_VERSION"))
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let fits = |candidate: &&Binaries| match made_by {
            Some(made_by) => candidate.major == made_by,
            None => candidate.major >= OLDEST_MAJOR,
        };
        match (found.iter().find(fits), made_by) {
            (Some(binaries), _) => Ok(binaries.clone()),
            (None, None) => Err(Error::TooOld {
                found: describe(&found),
            }),
            (None, Some(made_by)) => Err(Error::OtherVersion {
                directory: data.to_owned(),
                made_by,
                found: describe(&found),
            }),
        }
    }

    /// All installations: PATH first (somebody chose it), then `pg_config`'s, then packaged ones, newest first.
    fn installations(&self) -> Vec<Binaries> {
        let on_path: Vec<PathBuf> = env::split_paths(&self.path)
            .filter(|directory| !directory.as_os_str().is_empty())
            .collect();
        let mut found: Vec<Binaries> = on_path
            .iter()
            .filter_map(|directory| Binaries::at(directory))
            .collect();
        found.extend(
            on_path
                .iter()
                .map(|directory| directory.join("pg_config"))
                .find(|program| program.is_file())
                .and_then(|program| {
                    Command::new(program)
                        .arg("--bindir")
                        .stdin(Stdio::null())
                        .output()
                        .ok()
                })
                .and_then(|output| Binaries::at(Path::new(String::from_utf8_lossy(&output.stdout).trim()))),
        );
        let mut packaged: Vec<Binaries> = fs::read_dir(&self.packaged)
            .into_iter()
            .flatten()
            .filter_map(|entry| Binaries::at(&entry.ok()?.path().join("bin")))
            .collect();
        packaged.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
        found.extend(packaged);
        found
    }
}

fn describe(found: &[Binaries]) -> String {
    let each: Vec<String> = found
        .iter()
        .map(|binaries| format!("{} in {}", binaries.major, binaries.directory.display()))
        .collect();
    each.join(", ")
}

/// The major version in `postgres (PostgreSQL) 15.14 (Debian …)`.
fn major(version: &str) -> Option<u32> {
    let number = version
        .split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn install(bin: &Path, version: &str) {
        fs::create_dir_all(bin).unwrap();
        for program in ["initdb", "postgres"] {
            let path = bin.join(program);
            fs::write(
                &path,
                format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n"),
            )
            .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn version_text_gives_the_major_version() {
        assert_eq!(
            major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"),
            Some(15)
        );
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("sh: not found"), None);
    }

    #[test]
    fn without_any_postgres_the_error_says_what_to_install() {
        let empty = tempfile::tempdir().unwrap();
        let search = Search {
            path: empty.path().into(),
            packaged: empty.path().join("none"),
        };
        let error = search.find(Path::new("/nonexistent")).unwrap_err();
        assert!(matches!(error, Error::NotInstalled { .. }), "{error}");
        assert!(
            error.to_string().contains("apt-get install postgresql"),
            "{error}"
        );
    }

    #[test]
    fn newest_package_serves_a_new_directory_and_the_maker_an_old_one() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "14.2", "16.1", "17.0"] {
            install(&root.path().join(version).join("bin"), version);
        }
        let search = Search {
            path: OsString::new(),
            packaged: root.path().into(),
        };
        assert_eq!(search.find(Path::new("/nonexistent")).unwrap().major, 17);

        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("PG_VERSION"), "14\n").unwrap();
        assert_eq!(search.find(data.path()).unwrap().major, 14);

        fs::write(data.path().join("PG_VERSION"), "15\n").unwrap();
        assert!(matches!(
            search.find(data.path()),
            Err(Error::OtherVersion { made_by: 15, .. })
        ));
    }

    #[test]
    fn path_comes_before_packages_unless_it_is_too_old() {
        let root = tempfile::tempdir().unwrap();
        let packaged = root.path().join("packaged");
        install(&packaged.join("17/bin"), "17.0");
        let chosen = root.path().join("chosen");
        install(&chosen, "16.3");
        let search = |path: &Path| Search {
            path: path.into(),
            packaged: packaged.clone(),
        };
        assert_eq!(search(&chosen).find(Path::new("/nonexistent")).unwrap().major, 16);

        let old = root.path().join("old");
        install(&old, "13.9");
        assert_eq!(search(&old).find(Path::new("/nonexistent")).unwrap().major, 17);
    }
}
