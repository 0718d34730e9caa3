//! The network: a proxy between each pair that talks, and what strikes them.
//!
//! Owns the proxies by the pair that they stand between. When one is struck is the nemesis's part.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::proxy::{Proxy, Weather};

/// What delays a piece of a conversation in one direction at most; the fleets' settle window allows for it.
pub const SLOWEST: Duration = Duration::from_millis(120);

/// All proxies.
pub struct Network {
    /// By worker: to the servers, each connection to the next one.
    pub to_servers: Vec<Proxy>,
    /// By worker, then by conduct of the receiver.
    pub to_receivers: Vec<Vec<Proxy>>,
    /// By server, then by node of the database.
    pub to_database: Vec<Vec<Proxy>>,
}

/// What two processes talk through, struck as one.
pub type Link<'a> = &'a [Proxy];

impl Network {
    pub async fn start(
        workers: usize,
        servers: &[SocketAddr],
        receivers: &[SocketAddr],
        nodes: &[SocketAddr],
    ) -> anyhow::Result<Self> {
        let mut network = Self {
            to_servers: Vec::new(),
            to_receivers: Vec::new(),
            to_database: Vec::new(),
        };
        for _ in 0..workers {
            network.to_servers.push(Proxy::among(servers.to_vec()).await?);
            network.to_receivers.push(each(receivers).await?);
        }
        for _ in servers {
            network.to_database.push(each(nodes).await?);
        }
        Ok(network)
    }

    /// The links that a strike may choose among. Receivers are three for each worker, and would be struck most of the time:
    /// a worker's three are one link.
    pub fn links(&self) -> Vec<Link<'_>> {
        let servers = self.to_servers.iter().map(std::slice::from_ref);
        let receivers = self.to_receivers.iter().map(Vec::as_slice);
        let database = self.to_database.iter().map(Vec::as_slice);
        // The three servers' connections to the database carry most, so they come up as often as the workers' six.
        servers
            .chain(receivers)
            .chain(database.clone())
            .chain(database)
            .collect()
    }
}

async fn each(upstreams: &[SocketAddr]) -> anyhow::Result<Vec<Proxy>> {
    let mut proxies = Vec::new();
    for upstream in upstreams {
        proxies.push(Proxy::start(*upstream).await?);
    }
    Ok(proxies)
}

/// Ends the connections of a link; new ones are fine.
pub fn cut(link: Link<'_>) {
    for proxy in link {
        proxy.weather_for_present(Weather::Cut);
    }
}

/// Bad weather for a while.
pub async fn trouble(link: Link<'_>, weather: Weather, length: Duration) {
    for proxy in link {
        proxy.weather(weather);
    }
    tokio::time::sleep(length).await;
    for proxy in link {
        proxy.weather_for_new(Weather::Fair);
        match weather {
            Weather::Slow(_) | Weather::Fair => proxy.weather_for_present(Weather::Fair),
            // SUBTLE: bytes are missing in the middle of these conversations. Going on would be another kind of fault,
            // which no network does under TCP.
            Weather::RepliesLost | Weather::BlackHole | Weather::Cut => {
                proxy.weather_for_present(Weather::Cut)
            }
        }
    }
}
