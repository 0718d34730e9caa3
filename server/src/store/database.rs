//! Which database, and how to connect to it. The password stays inside: neither an error nor a debug print shows it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::{Config, Host};

/// A host that does not answer the knock is left for the next one, or for the next try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Sent bytes that nobody acknowledges for this long mean that the host is gone; a COMMIT on its way is then of unknown
/// outcome. Longer than a network's own repairs, shorter than the default lease.
const SILENCE: Duration = Duration::from_secs(10);

/// An idle connection asks this often whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The address of a database, which may name several hosts.
#[derive(Clone)]
pub struct Database {
    config: Arc<Config>,
}

/// The address does not read as one. It may contain a password, so nothing of it is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the database address cannot be read; it looks like \
     postgres://USER:PASSWORD@HOST:PORT/DATABASE, with every special character of the password %-encoded"
)]
pub struct BadAddress;

impl Database {
    /// Reads an address: a URL or `key=value` pairs, as libpq takes them. With several hosts, give
    /// `target_session_attrs=read-write`.
    ///
    /// # Errors
    /// [`BadAddress`] if it is none.
    pub fn parse(address: &str) -> Result<Self, BadAddress> {
        let mut config = Config::from_str(address).map_err(|_| BadAddress)?;
        if config.get_hosts().is_empty() {
            return Err(BadAddress);
        }
        if config.get_application_name().is_none() {
            config.application_name("deed-server");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        config
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE / 5);
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// For the store's own files.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let ports = self.config.get_ports();
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_in_no_print_and_no_error() {
        let database =
            Database::parse("postgres://deed:canary@a:1,b:2/deed?target_session_attrs=read-write").unwrap();
        assert_eq!(database.to_string(), "a:1,b:2/deed");
        assert_eq!(format!("{database:?}"), "Database(a:1,b:2/deed)");
        for broken in ["postgres://deed:canary@a:port/x", "host=a canary", "canary"] {
            let error = Database::parse(broken).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{broken}");
        }
    }
}
