//! Keeps the edges of the house: which files may see Postgres, which may see gRPC, what the core may
//! import, how long a file may be, and what must not be left lying in a source.
//!
//! It reads sources as text and refuses to understand Rust: types are the compiler's work, style is
//! clippy's. A rule that either of them can keep does not belong here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Where sources live; everything else in the tree is made by tools or is data.
const SOURCES: [&str; 7] = [
    ".ci",
    "client",
    "migrations",
    "proto",
    "scripts",
    "server",
    "tests",
];

/// A file beyond this no longer has one owner or one reason to change.
const LONGEST_FILE: usize = 400;

/// Files that may be longer, with the reason. An entry that is no longer needed fails as well.
const LONGER_FOR_A_REASON: [(&str, &str); 0] = [];

/// The only places in the server that may speak to Postgres.
const POSTGRES_EDGE: [&str; 2] = ["server/src/store/", "server/src/postgres"];

/// The only places in the server that may see the wire. `lib.rs` puts the parts together.
const GRPC_EDGE: [&str; 2] = ["server/src/grpc", "server/src/lib.rs"];

/// The only places in the server that may handle certificates, keys and signatures.
const SECRETS_EDGE: [&str; 2] = ["server/src/auth/", "server/src/grpc/listen.rs"];

/// What the core is built from, besides std.
const CORE_DEPENDENCIES: [&str; 2] = ["thiserror", "uuid"];

/// Parts of std that would let the world into the core.
const OUTSIDE_WORLD: [&str; 6] = [
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
];

/// Written in halves, so that this file does not find itself.
const LEFTOVERS: [(&str, &str); 6] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("X", "XX"),
    ("todo", "!("),
    ("unimplemented", "!("),
    ("dbg", "!("),
];

struct Source {
    /// Relative to the repository, with forward slashes.
    path: String,
    text: String,
}

impl Source {
    fn rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn under(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    /// The numbers of the lines whose code, comments left aside, mentions one of the names.
    fn mentions(&self, names: &[&str]) -> Vec<String> {
        self.text
            .lines()
            .enumerate()
            .filter(|(_, line)| {
                let code = line.split("//").next().unwrap_or_default();
                names.iter().any(|name| has_word(code, name))
            })
            .map(|(index, line)| format!("{}:{}: {}", self.path, index + 1, line.trim()))
            .collect()
    }
}

fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(part_of_name) && !line[at + word.len()..].starts_with(part_of_name)
    })
}

fn root() -> Result<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(tests
        .parent()
        .context("the tests crate lies in the repository's root")?
        .to_path_buf())
}

fn collect(root: &Path, directory: &Path, into: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with(['.', '_']) {
                collect(root, &path, into)?;
            }
            continue;
        }
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if ["proto", "py", "rs", "sh", "sql", "toml"].contains(&extension.as_str()) || name == "run" {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let path = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            into.push(Source { path, text });
        }
    }
    Ok(())
}

fn sources() -> Result<Vec<Source>> {
    let root = root()?;
    let mut found = Vec::new();
    for place in SOURCES {
        if root.join(place).is_dir() {
            collect(&root, &root.join(place), &mut found)?;
        }
    }
    // A test that looks at nothing passes for ever.
    ensure!(
        found.iter().any(|source| source.path == "server/core/src/lib.rs"),
        "the core was not found"
    );
    Ok(found)
}

/// Fails with every offence at once.
fn none(offences: Vec<String>, rule: &str) -> Result<()> {
    ensure!(offences.is_empty(), "{rule}:\n{}", offences.join("\n"));
    Ok(())
}

fn server_sources() -> Result<Vec<Source>> {
    Ok(sources()?
        .into_iter()
        .filter(|source| source.rust() && source.under(&["server/src/"]))
        .collect())
}

#[test]
fn only_the_store_and_postgres_files_import_the_postgres_driver() -> Result<()> {
    let offences = server_sources()?
        .iter()
        .filter(|source| !source.under(&POSTGRES_EDGE))
        .flat_map(|source| source.mentions(&["tokio_postgres", "deadpool_postgres", "refinery"]))
        .collect();
    none(
        offences,
        "only the store's files and server/src/postgres speak to Postgres",
    )
}

#[test]
fn only_the_grpc_files_import_tonic_and_the_generated_types() -> Result<()> {
    let offences = server_sources()?
        .iter()
        .filter(|source| !source.under(&GRPC_EDGE))
        .flat_map(|source| {
            source.mentions(&[
                "tonic",
                "tonic_health",
                "tonic_reflection",
                "tonic_types",
                "prost",
                "prost_types",
                "deed_proto",
            ])
        })
        .collect();
    none(offences, "only server/src/grpc and lib.rs see the wire")
}

#[test]
fn only_the_doors_handle_certificates_keys_and_signatures() -> Result<()> {
    let offences = server_sources()?
        .iter()
        .filter(|source| !source.under(&SECRETS_EDGE))
        .flat_map(|source| {
            source.mentions(&["aws_lc_rs", "jsonwebtoken", "rustls", "tokio_rustls", "webpki"])
        })
        .collect();
    none(
        offences,
        "only server/src/auth and the listener speak TLS or check signatures",
    )
}

#[test]
fn the_core_depends_on_thiserror_and_uuid_alone() -> Result<()> {
    let manifest = fs::read_to_string(root()?.join("server/core/Cargo.toml"))?;
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]")
            && section != "[dev-dependencies]"
            && let Some((name, _)) = line.split_once(['.', '=', ' '])
        {
            found.insert(name);
        }
    }
    ensure!(
        found == BTreeSet::from(CORE_DEPENDENCIES),
        "server/core/Cargo.toml depends on {found:?}"
    );
    Ok(())
}

#[test]
fn the_core_reaches_for_nothing_outside_itself() -> Result<()> {
    let offences = sources()?
        .iter()
        .filter(|source| source.rust() && source.under(&["server/core/src/"]))
        .flat_map(|source| source.mentions(&OUTSIDE_WORLD))
        .collect();
    none(offences, "the core is pure: what it needs to know is an argument")
}

#[test]
fn no_file_is_longer_than_one_reader_can_hold() -> Result<()> {
    let mut offences = Vec::new();
    for source in sources()?.iter().filter(|source| source.rust()) {
        let lines = source.text.lines().count();
        let excused = LONGER_FOR_A_REASON.iter().any(|(path, _)| *path == source.path);
        match (lines > LONGEST_FILE, excused) {
            (true, false) => offences.push(format!("{}: {lines} lines", source.path)),
            (false, true) => offences.push(format!("{}: needs no exception any more", source.path)),
            (true, true) | (false, false) => {}
        }
    }
    none(
        offences,
        "files have at most 400 lines, or a reason in LONGER_FOR_A_REASON",
    )
}

#[test]
fn every_rust_file_begins_by_saying_what_it_owns() -> Result<()> {
    let offences = sources()?
        .iter()
        .filter(|source| source.rust() && !source.text.starts_with("//!"))
        .map(|source| source.path.clone())
        .collect();
    none(offences, "the first line of a file is its module doc (//!)")
}

#[test]
fn nothing_half_done_is_left_in_a_source() -> Result<()> {
    let leftovers: Vec<String> = LEFTOVERS
        .iter()
        .map(|(head, tail)| format!("{head}{tail}"))
        .collect();
    let mut offences = Vec::new();
    for source in sources()? {
        for (index, line) in source.text.lines().enumerate() {
            if leftovers.iter().any(|leftover| line.contains(leftover.as_str())) {
                offences.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    none(offences, "finish it, or file it as an issue")
}
