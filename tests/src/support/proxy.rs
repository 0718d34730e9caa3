//! A TCP proxy on the loopback that does to connections what networks do: cuts them, delays them, loses what one side
//! says, or goes silent without a word.
//!
//! Owns bytes and connections; it knows nothing of what they mean.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What happens to the bytes of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weather {
    #[default]
    Fair,
    /// Bytes go on this much later.
    Slow(Duration),
    /// Requests arrive, their answers do not.
    RepliesLost,
    /// Bytes are taken and go nowhere, in both directions; nobody is told, not even of the end.
    BlackHole,
    /// The connection ends.
    Cut,
}

/// A running proxy; its connections end when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    upstreams: Vec<SocketAddr>,
    state: Mutex<State>,
    /// How many connections were accepted so far.
    accepted: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    for_new: Weather,
    connections: Vec<watch::Sender<Weather>>,
}

impl Proxy {
    pub async fn start(upstream: SocketAddr) -> io::Result<Self> {
        Self::among(vec![upstream]).await
    }

    /// Each new connection goes to the next upstream, or to the one after it where that does not answer the knock.
    pub async fn among(upstreams: Vec<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstreams,
            state: Mutex::default(),
            accepted: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What new connections meet.
    pub fn weather_for_new(&self, weather: Weather) {
        self.shared.lock().for_new = weather;
    }

    /// What the present connections meet from now on.
    pub fn weather_for_present(&self, weather: Weather) {
        for connection in &self.shared.lock().connections {
            connection.send_replace(weather);
        }
    }

    /// What every connection meets from now on.
    pub fn weather(&self, weather: Weather) {
        self.weather_for_new(weather);
        self.weather_for_present(weather);
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        *self.shared.accepted.borrow()
    }

    /// Waits until that many connections have been accepted; bound it with a timeout.
    pub async fn until_accepted(&self, count: usize) {
        let mut accepted = self.shared.accepted.subscribe();
        // The sender lives as long as this.
        let _reached = accepted.wait_for(|accepted| *accepted >= count).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.weather_for_present(Weather::Cut);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All upstreams, from the one whose turn it is.
    fn in_turn(&self, turn: usize) -> Vec<SocketAddr> {
        let mut upstreams = self.upstreams.clone();
        let first = turn % upstreams.len().max(1);
        upstreams.rotate_left(first);
        upstreams
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let weather = {
            let mut state = shared.lock();
            state.connections.retain(|connection| !connection.is_closed());
            let connection = watch::Sender::new(state.for_new);
            let weather = connection.subscribe();
            state.connections.push(connection);
            weather
        };
        let turn = *shared.accepted.borrow();
        shared.accepted.send_modify(|accepted| *accepted += 1);
        if *weather.borrow() == Weather::Cut {
            continue;
        }
        tokio::spawn(carry(client, shared.in_turn(turn), weather));
    }
}

/// Carries one connection until either side ends it, or it is cut.
async fn carry(client: TcpStream, upstreams: Vec<SocketAddr>, mut weather: watch::Receiver<Weather>) {
    let Ok(server) = TcpStream::connect(upstreams.as_slice()).await else {
        return;
    };
    let _quick = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let carried = async {
        tokio::join!(
            one_way(from_client, to_server, weather.clone(), Direction::Requests),
            one_way(from_server, to_client, weather.clone(), Direction::Replies),
        );
    };
    let mut cut = weather.clone();
    let is_cut = async {
        // An error means that the proxy is gone, and then everything ends.
        let _cut = cut.wait_for(|weather| *weather == Weather::Cut).await;
    };
    tokio::select! {
        () = carried => {}
        () = is_cut => {}
    }
    weather.mark_unchanged();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Replies,
}

async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    weather: watch::Receiver<Weather>,
    direction: Direction,
) {
    let mut some = vec![0; 16 * 1_024];
    loop {
        let read = from.read(&mut some).await;
        let now = *weather.borrow();
        let lost =
            now == Weather::BlackHole || now == Weather::RepliesLost && direction == Direction::Replies;
        match read {
            // SUBTLE: the end of a connection is lost like everything else; the other side must not learn of it.
            Ok(0) | Err(_) if lost => return std::future::pending().await,
            Ok(0) | Err(_) => return,
            Ok(_) if lost => {}
            Ok(count) => {
                if let Weather::Slow(delay) = now {
                    tokio::time::sleep(delay).await;
                }
                if to.write_all(&some[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
