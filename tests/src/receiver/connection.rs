//! Connections that the receiver can end without an answer.
//!
//! A handler of an HTTP server can only answer. To lose an answer the way a network loses it, the listener wraps each
//! connection with a switch that the handler can throw: from then on every read and write fails, and the server closes
//! the connection without another byte.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The switch of one connection.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Ends the connection; an answer written afterwards goes nowhere.
    pub fn cut(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Acquire) {
            Err(io::ErrorKind::ConnectionReset.into())
        } else {
            Ok(())
        }
    }
}

impl Connected<IncomingStream<'_, SwitchedListener>> for Switch {
    fn connect_info(stream: IncomingStream<'_, SwitchedListener>) -> Self {
        stream.io().switch.clone()
    }
}

/// A TCP listener whose connections have a switch.
#[derive(Debug)]
pub struct SwitchedListener(pub TcpListener);

impl Listener for SwitchedListener {
    type Io = SwitchedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (SwitchedStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (
            SwitchedStream {
                stream,
                switch: Switch::default(),
            },
            address,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// One connection.
#[derive(Debug)]
pub struct SwitchedStream {
    stream: TcpStream,
    switch: Switch,
}

impl AsyncRead for SwitchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.switch.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for SwitchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.switch.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.switch.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
