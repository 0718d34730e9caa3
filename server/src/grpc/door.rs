//! The door: every call says who makes it before its message is read. Health is open, since whoever asks for it (a load
//! balancer, a kubelet) has no credentials and learns one word; reflection is a call like any other.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::Either;
use http::{Request, Response, header};
use secrecy::SecretString;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::server::TcpConnectInfo;
use tower::{Layer, Service};

use super::error::Failure;
use super::listen::Peer;
use crate::auth::{Error, Keeper, Presented};

/// The one service that is open to everybody.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// Wraps a service.
#[derive(Clone, Debug)]
pub struct DoorLayer {
    keeper: Keeper,
}

impl DoorLayer {
    /// Lets in whom this keeper lets in.
    pub fn new(keeper: Keeper) -> Self {
        Self { keeper }
    }
}

impl<S> Layer<S> for DoorLayer {
    type Service = Door<S>;

    fn layer(&self, inner: S) -> Door<S> {
        let keeper = self.keeper.clone();
        Door { inner, keeper }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Door<S> {
    inner: S,
    keeper: Keeper,
}

impl<S> Service<Request<Body>> for Door<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let remote = request.extensions().get::<Peer>().and_then(|peer| peer.remote);
        // Where tonic looks for the address that a handler asks it for.
        let asked_for = TcpConnectInfo {
            local_addr: None,
            remote_addr: remote,
        };
        request.extensions_mut().insert(asked_for);
        if !request.uri().path().starts_with(HEALTH) {
            let admitted = presented(&request).and_then(|shown| self.keeper.admit(shown));
            match admitted {
                Ok(caller) => request.extensions_mut().insert(Arc::new(caller)),
                Err(refused) => {
                    let status = Status::from(Failure::from(refused));
                    return Either::Right(ready(Ok(status.into_http())));
                }
            };
        }
        Either::Left(self.inner.call(request))
    }
}

/// What the headers and the connection show. An `authorization` that is no bearer token is refused, not overlooked.
fn presented(request: &Request<Body>) -> Result<Presented, Error> {
    let peer = request.extensions().get::<Peer>();
    let certificate = peer.and_then(|peer| peer.certificate.clone());
    let mut given = request.headers().get_all(header::AUTHORIZATION).iter();
    let Some(value) = given.next() else {
        return Ok(Presented {
            bearer: None,
            certificate,
        });
    };
    let bearer = value.to_str().ok().and_then(|text| text.split_once(' '));
    match (bearer, given.next()) {
        (Some((scheme, token)), None) if scheme.eq_ignore_ascii_case("bearer") => Ok(Presented {
            bearer: Some(SecretString::from(token.trim().to_owned())),
            certificate,
        }),
        _ => Err(Error::CredentialsRefused),
    }
}
