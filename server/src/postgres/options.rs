//! How to start a private Postgres: what the caller chooses, and what holds unless the caller chooses otherwise.

use std::env;
use std::path::PathBuf;

/// Small, durable, quiet. Whoever needs others gives them in [`Options::settings`], which come later and win.
pub(super) const SETTINGS: [(&str, &str); 10] = [
    ("listen_addresses", "127.0.0.1"),
    // The directory may be too deep for a socket's 107 bytes, and the loopback serves every client.
    ("unix_socket_directories", ""),
    ("fsync", "on"),
    ("full_page_writes", "on"),
    ("synchronous_commit", "on"),
    // Many tests at once, each with a server's pool and a client or two.
    ("max_connections", "200"),
    ("shared_buffers", "64MB"),
    // Short statements only: compiling them costs more than running them.
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
];

/// Where the data of a private Postgres is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In this directory, made where it is missing; it survives the process.
    Kept(PathBuf),
    /// In a new directory below this one; it goes with the [`Cluster`](super::Cluster).
    Ephemeral(PathBuf),
}

/// The port on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Any that is free.
    Free,
    /// This one.
    Fixed(u16),
}

/// How to start a private Postgres.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its data is.
    pub data: Data,
    /// Where it listens.
    pub port: Port,
    /// Names and values of settings beyond, or instead of, the launcher's own.
    pub settings: Vec<(String, String)>,
}

impl Options {
    /// Data in `directory`, any free port.
    pub fn kept(directory: impl Into<PathBuf>) -> Self {
        Self {
            data: Data::Kept(directory.into()),
            port: Port::Free,
            settings: Vec::new(),
        }
    }

    /// Data in the system's temporary directory, any free port.
    #[must_use]
    pub fn ephemeral() -> Self {
        Self {
            data: Data::Ephemeral(env::temp_dir()),
            port: Port::Free,
            settings: Vec::new(),
        }
    }

    /// The same on `port`.
    #[must_use]
    pub fn on(self, port: Port) -> Self {
        Self { port, ..self }
    }

    /// The same with one setting more.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.push((setting.to_owned(), value.to_owned()));
        self
    }
}

/// Where `dev` keeps its data unless told otherwise: `/var/lib/deed` for root (the account that Postgres then runs as
/// cannot enter root's home), else `deed` in the user's data directory.
#[must_use]
pub fn default_directory() -> PathBuf {
    if nix::unistd::geteuid().is_root() {
        return "/var/lib/deed/postgres".into();
    }
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_default()
        .join("deed/postgres")
}
