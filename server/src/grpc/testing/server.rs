//! A real server on the loopback, and what clients see of it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, BufMut};
use deed_core::Protocol;
use deed_proto::v1;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::operations_client::OperationsClient;
use deed_proto::v1::ownership_client::OwnershipClient;
use http::uri::PathAndQuery;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::memory::Memory;
use crate::grpc::{Edge, MAX_DEADLINE, ServeError, serve};
use crate::service::{Gate, Judge};

/// A server; stops when dropped.
pub struct Running {
    pub memory: Memory,
    pub address: SocketAddr,
    pub channel: Channel,
    pub stop: CancellationToken,
    pub serving: JoinHandle<Result<(), ServeError>>,
    _stops: DropGuard,
}

impl Running {
    pub async fn start() -> Self {
        let (memory, stop) = (Memory::default(), CancellationToken::new());
        Self::serving(memory.clone(), Arc::new(memory), stop.clone(), stop).await
    }

    /// With a gate before the memory; the gate begins to drain when it is closed.
    pub async fn behind_a_gate(places: usize) -> (Self, Gate<Memory>) {
        let memory = Memory::default();
        // What is stuck keeps its place, or who is next would depend on how fast the machine is.
        let gate = Gate::new(Arc::new(memory.clone()), places).at_work_for(MAX_DEADLINE);
        let (judge, draining) = (Arc::new(gate.clone()), gate.closing());
        let running = Self::serving(memory, judge, draining, CancellationToken::new()).await;
        (running, gate)
    }

    async fn serving<J: Judge>(
        memory: Memory,
        judge: Arc<J>,
        draining: CancellationToken,
        stop: CancellationToken,
    ) -> Self {
        let ledger = Arc::new(memory.clone());
        let edge = Edge::new(judge, ledger, Protocol::default(), draining);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(edge, listener, stop.clone()));
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        let channel = channel.connect().await.unwrap();
        Self {
            memory,
            address,
            channel,
            serving,
            _stops: stop.clone().drop_guard(),
            stop,
        }
    }

    pub fn ownership(&self) -> OwnershipClient<Channel> {
        OwnershipClient::new(self.channel.clone())
    }

    pub fn ledger(&self) -> LedgerClient<Channel> {
        LedgerClient::new(self.channel.clone())
    }

    pub fn operations(&self) -> OperationsClient<Channel> {
        OperationsClient::new(self.channel.clone())
    }

    /// Claims over a bare HTTP/2 connection. tonic's client keeps the deadline by a clock of its own and would not wait
    /// for what the server says.
    pub async fn claim_within(&self, claim: &v1::ClaimRequest, allowed: &str) -> Status {
        let socket = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
        let driving = tokio::spawn(connection);
        let request = http::Request::post(format!("http://{}/deed.v1.Ownership/Claim", self.address))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-timeout", allowed)
            .body(())
            .unwrap();
        let (response, mut body) = client.send_request(request, false).unwrap();
        let message = claim.encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let frame = [&[0], &length[..], &message[..]].concat();
        body.send_data(frame.into(), true).unwrap();
        let headers = response.await.unwrap().headers().clone();
        driving.abort();
        Status::from_header_map(&headers).unwrap()
    }

    /// Sends bytes as they are.
    pub async fn raw(&self, path: &str, bytes: Vec<u8>) -> Result<Response<Vec<u8>>, Status> {
        let mut client = Grpc::new(self.channel.clone());
        client.ready().await.unwrap();
        let path: PathAndQuery = path.parse().unwrap();
        client.unary(Request::new(bytes), path, Raw).await
    }
}

/// The details of an error, after making sure that there is exactly one ErrorInfo, of the right domain.
pub fn details(status: &Status) -> ErrorDetails {
    let infos = status.get_error_details_vec();
    let infos = infos
        .iter()
        .filter(|detail| matches!(detail, tonic_types::ErrorDetail::ErrorInfo(_)));
    assert_eq!(infos.count(), 1, "{status:?}");
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().domain, "deed");
    details
}

/// The reason of an error.
pub fn reason(status: &Status) -> String {
    details(status).error_info().unwrap().reason.clone()
}

/// The field that an error names.
pub fn field(status: &Status) -> String {
    let details = details(status);
    let info = details.error_info().unwrap();
    info.metadata.get("field").cloned().unwrap_or_default()
}

/// Messages as bytes.
#[derive(Clone, Copy, Default)]
pub struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}
