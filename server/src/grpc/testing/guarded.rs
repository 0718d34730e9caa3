//! A server that asks who calls, and callers of several kinds.

use std::net::SocketAddr;
use std::sync::Arc;

use deed_core::Protocol;
use deed_proto::v1;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::ownership_client::OwnershipClient;
use http::uri::PathAndQuery;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::client::Grpc;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use super::memory::Memory;
use super::sample;
use super::server::Raw;
use crate::auth::Keeper;
use crate::auth::testing::Issued;
use crate::auth::tls::Tls;
use crate::grpc::{Edge, Listener, serve};

/// A server; stops when dropped.
pub struct Guarded {
    pub memory: Memory,
    pub address: SocketAddr,
    _stops: DropGuard,
}

/// What a caller shows.
#[derive(Clone, Default)]
pub struct Shows {
    /// Values of the header `authorization`.
    pub authorization: Vec<String>,
}

impl Shows {
    pub fn token(token: &SecretString) -> Self {
        Self::header(&format!("Bearer {}", token.expose_secret()))
    }

    pub fn header(value: &str) -> Self {
        Self {
            authorization: vec![value.to_owned()],
        }
    }
}

impl tonic::service::Interceptor for Shows {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for value in &self.authorization {
            request
                .metadata_mut()
                .append("authorization", value.parse().unwrap());
        }
        Ok(request)
    }
}

pub type Shown = InterceptedService<Channel, Shows>;

/// The services as one caller sees them.
pub struct Client {
    pub ownership: OwnershipClient<Shown>,
    pub ledger: LedgerClient<Shown>,
}

impl Client {
    pub fn new(channel: &Channel, shows: &Shows) -> Self {
        let shown = || InterceptedService::new(channel.clone(), shows.clone());
        Self {
            ownership: OwnershipClient::new(shown()),
            ledger: LedgerClient::new(shown()),
        }
    }
}

impl Client {
    /// Claims, and is granted it: the token.
    pub async fn granted(&mut self, claim: v1::ClaimRequest) -> u64 {
        let answer = self.ownership.claim(claim).await.unwrap().into_inner().answer;
        match answer.unwrap().next_step.unwrap().kind.unwrap() {
            v1::next_step::Kind::Execute(grant) => grant.fencing_token,
            other => panic!("expected a grant to execute, got {other:?}"),
        }
    }

    /// The principal that holds the lease of the sample's action.
    pub async fn holder(&mut self) -> String {
        let seen = self.ledger.get_action(sample::get()).await.unwrap();
        seen.into_inner().lease.unwrap().principal
    }
}

impl Guarded {
    pub async fn start(keeper: Keeper, tls: Option<Tls>) -> Self {
        let (memory, stop) = (Memory::default(), CancellationToken::new());
        let shared = Arc::new(memory.clone());
        let edge = Edge::new(shared.clone(), shared, Protocol::default(), stop.clone()).behind(keeper);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(edge, Listener::new(listener, tls), stop.clone()));
        Self {
            memory,
            address,
            _stops: stop.drop_guard(),
        }
    }

    /// Without TLS.
    pub async fn plain(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// Over TLS to a server of this CA, with or without a client certificate; none where no connection comes about.
    pub async fn secured(&self, ca: &str, client: Option<&Issued>) -> Option<Channel> {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(ca))
            .domain_name("localhost");
        if let Some(issued) = client {
            tls = tls.identity(Identity::from_pem(&issued.certificate, &issued.key));
        }
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address)).unwrap();
        endpoint.tls_config(tls).unwrap().connect().await.ok()
    }
}

/// Sends bytes as they are; the first message of the answer.
pub async fn raw(channel: &Channel, shows: &Shows, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    let mut client = Grpc::new(InterceptedService::new(channel.clone(), shows.clone()));
    client
        .ready()
        .await
        .map_err(|error| Status::unknown(error.to_string()))?;
    let path: PathAndQuery = path.parse().unwrap();
    let mut answer = client
        .server_streaming(Request::new(bytes), path, Raw)
        .await?
        .into_inner();
    Ok(answer.message().await?.unwrap_or_default())
}
