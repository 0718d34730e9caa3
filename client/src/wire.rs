//! The connection to the service: one HTTP/2 channel, replaced when it is suspected to be dead.
//!
//! Owns connecting. What is called over it, and how often, is `calls`' business; what every call shows, and whether TLS is
//! spoken, is the door's.

use std::sync::Mutex;
use std::time::Duration;

use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;

use crate::door::{Bearer, Door};
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

/// One connection, over which every call shows what it has to.
pub(crate) type Channel = InterceptedService<tonic::transport::Channel, Bearer>;

#[derive(Debug)]
pub(crate) struct Wire {
    url: String,
    door: Door,
    bearer: Bearer,
    current: Mutex<(Generation, Channel)>,
}

impl Wire {
    /// Connects with the first call.
    pub fn new(url: &str, door: Door) -> Result<Self, Error> {
        let bearer = door.bearer()?;
        let channel = connect(url, &door, &bearer)?;
        Ok(Self {
            url: url.to_owned(),
            door,
            bearer,
            current: Mutex::new((Generation(0), channel)),
        })
    }

    pub fn channel(&self) -> (Generation, Channel) {
        let current = locked(&self.current);
        (current.0, current.1.clone())
    }

    pub fn generation(&self) -> Generation {
        locked(&self.current).0
    }

    /// A call over this connection was cut off by its deadline, so it may be half-open: packets vanish and nobody says so.
    /// Calls under way on it go on; new ones take a new connection.
    pub fn replace(&self, suspect: Generation) {
        let mut current = locked(&self.current);
        // SUBTLE: many calls may time out on one connection; only the first of them replaces it, or they would go on
        // replacing one another's.
        if current.0 == suspect {
            current.0 = Generation(suspect.0 + 1);
            match connect(&self.url, &self.door, &self.bearer) {
                Ok(channel) => current.1 = channel,
                // The old one connects again by itself, with the certificates that it has.
                Err(error) => tracing::warn!(%error, "no new connection"),
            }
        }
    }
}

/// Connects with the first call, by the certificates that the files hold now.
fn connect(url: &str, door: &Door, bearer: &Bearer) -> Result<Channel, Error> {
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|source| Error::Address {
        url: url.to_owned(),
        source: Some(source),
    })?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true);
    let channel = door.endpoint(url, endpoint)?.connect_lazy();
    Ok(InterceptedService::new(channel, bearer.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_refused_at_once() {
        for url in ["", "not an address", "ftp://127.0.0.1:7717", "127.0.0.1:7717"] {
            let refused = Wire::new(url, Door::default());
            assert!(matches!(refused, Err(Error::Address { .. })), "{url}");
        }
        assert!(Wire::new("http://127.0.0.1:7717", Door::default()).is_ok());
    }

    #[tokio::test]
    async fn a_dead_connection_is_replaced_once_however_many_calls_it_failed() {
        let wire = Wire::new("http://127.0.0.1:1", Door::default()).unwrap();
        let (suspect, _) = wire.channel();
        wire.replace(suspect);
        wire.replace(suspect);
        assert_eq!(wire.channel().0, Generation(1));
    }
}
