//! Accepting connections: plain, or through a TLS handshake with the certificates that are in force at that moment.
//!
//! It owns the time that a handshake may take and remembers the names of the caller's certificate for all calls of the
//! connection. Who they are is the door's question.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::{Connected, TcpIncoming};

use crate::auth::certificate::CertificateName;
use crate::auth::tls::Tls;

/// A handshake is two round trips; whoever takes longer than this only holds a place.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Where callers come from.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Tls>,
}

impl Listener {
    /// Speaks TLS if there is a configuration for it.
    pub fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// What all calls of one connection have in common; it goes into the extensions of each.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Its address.
    pub remote: Option<SocketAddr>,
    /// The names of the client certificate, where there is one.
    pub certificate: Option<Arc<[CertificateName]>>,
}

/// One connection.
pub struct Connection {
    io: Either<TcpStream, Box<TlsStream<TcpStream>>>,
    peer: Peer,
}

impl Connection {
    fn plain(tcp: TcpStream) -> Self {
        Self {
            peer: Peer {
                remote: tcp.peer_addr().ok(),
                certificate: None,
            },
            io: Either::Left(tcp),
        }
    }

    /// None where no handshake came about.
    async fn secured(tcp: TcpStream, tls: Tls) -> Option<Self> {
        let remote = tcp.peer_addr().ok();
        let acceptor = TlsAcceptor::from(tls.take());
        let stream = match timeout(HANDSHAKE, acceptor.accept(tcp)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "no TLS handshake");
                return None;
            }
            Err(_elapsed) => {
                tracing::debug!("no TLS handshake in time");
                return None;
            }
        };
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certificate = shown.map(|certificate| CertificateName::of(certificate).into());
        Some(Self {
            io: Either::Right(Box::new(stream)),
            peer: Peer { remote, certificate },
        })
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// The connections as they become usable. Handshakes run beside each other: a slow one holds up nobody.
pub struct Incoming {
    tcp: TcpIncoming,
    tls: Option<Tls>,
    handshakes: JoinSet<Option<Connection>>,
}

impl From<Listener> for Incoming {
    fn from(Listener { tcp, tls }: Listener) -> Self {
        Self {
            tcp: TcpIncoming::from(tcp).with_nodelay(Some(true)),
            tls,
            handshakes: JoinSet::new(),
        }
    }
}

impl Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Poll::Ready(accepted) = Pin::new(&mut self.tcp).poll_next(cx) {
            let tcp = match accepted {
                Some(Ok(tcp)) => tcp,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
            match self.tls.clone() {
                None => return Poll::Ready(Some(Ok(Connection::plain(tcp)))),
                Some(tls) => drop(self.handshakes.spawn(Connection::secured(tcp, tls))),
            }
        }
        loop {
            match ready!(self.handshakes.poll_join_next(cx)) {
                Some(Ok(Some(connection))) => return Poll::Ready(Some(Ok(connection))),
                Some(Ok(None) | Err(_)) => {}
                // Nothing is under way; the listener wakes this task for the next one.
                None => return Poll::Pending,
            }
        }
    }
}
