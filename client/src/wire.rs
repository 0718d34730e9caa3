//! The connection to the service: one HTTP/2 channel, replaced when it is suspected to be dead.
//!
//! Owns connecting. What is called over it, and how often, is `calls`' business. TLS is not spoken yet.

use std::sync::Mutex;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::error::Error;
use crate::locked;

/// A server on the same network answers a connection within milliseconds; what takes longer than this is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Pings also while idle, so that a connection that died without a word is found before the next claim needs it.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Which of the connections made so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

#[derive(Debug)]
pub(crate) struct Wire {
    endpoint: Endpoint,
    current: Mutex<(Generation, Channel)>,
}

impl Wire {
    /// Connects with the first call.
    pub fn new(url: &str) -> Result<Self, Error> {
        let refuse = |source| Error::Address {
            url: url.to_owned(),
            source,
        };
        let endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(|source| refuse(Some(source)))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true);
        if endpoint.uri().scheme_str() != Some("http") || endpoint.uri().host().is_none() {
            return Err(refuse(None));
        }
        let current = Mutex::new((Generation(0), endpoint.connect_lazy()));
        Ok(Self { endpoint, current })
    }

    pub fn channel(&self) -> (Generation, Channel) {
        let current = locked(&self.current);
        (current.0, current.1.clone())
    }

    /// A call over this connection was cut off by its deadline, so it may be half-open: packets vanish and nobody says so.
    /// Calls under way on it go on; new ones take a new connection.
    pub fn replace(&self, suspect: Generation) {
        let mut current = locked(&self.current);
        // SUBTLE: many calls may time out on one connection; only the first of them replaces it, or they would go on
        // replacing one another's.
        if current.0 == suspect {
            *current = (Generation(suspect.0 + 1), self.endpoint.connect_lazy());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_refused_at_once() {
        for url in ["", "not an address", "https://127.0.0.1:7717", "127.0.0.1:7717"] {
            assert!(matches!(Wire::new(url), Err(Error::Address { .. })), "{url}");
        }
        assert!(Wire::new("http://127.0.0.1:7717").is_ok());
    }

    #[tokio::test]
    async fn a_dead_connection_is_replaced_once_however_many_calls_it_failed() {
        let wire = Wire::new("http://127.0.0.1:1").unwrap();
        let (suspect, _) = wire.channel();
        wire.replace(suspect);
        wire.replace(suspect);
        assert_eq!(wire.channel().0, Generation(1));
    }
}
