//! Listening: the three services with health, reflection, keepalive and limits, until told to stop.

use std::time::Duration;

use deed_proto::FILE_DESCRIPTOR_SET;
use deed_proto::v1::ledger_server::LedgerServer;
use deed_proto::v1::operations_server::OperationsServer;
use deed_proto::v1::ownership_server::OwnershipServer;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_reflection::server::Builder;

use super::MAX_MESSAGE_BYTES;
use super::door::DoorLayer;
use super::edge::Edge;
use super::envelope::EnvelopeLayer;
use super::listen::{Incoming, Listener};
use crate::service::Judge;
use crate::service::ledger::Ledger;

/// How often a silent connection is asked whether it is alive, and how long it may take to say so: a worker whose machine
/// is gone is noticed within a lease.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Calls at once on one connection. A process has a call per lease and one more; beyond it, it waits in the client.
const MAX_STREAMS: u32 = 1_024;

/// Calls that one connection may give up before they are taken up: as many as it may have. At the library's 20, a process
/// that times out on some dozens of calls at once loses the connection, and with it the renewals on it (B36).
const MAX_GIVEN_UP: usize = MAX_STREAMS as usize;

/// Bytes that a caller may send on a connection, and on one stream of it, before they are read.
// SUBTLE: a stream's share is a quarter. What a session has sent and the server does not read counts against the connection
// as well; with the whole of it, a session that is held back would shut out the renewals beside it (B48).
const CONNECTION_WINDOW: u32 = 1024 * 1024;
const STREAM_WINDOW: u32 = CONNECTION_WINDOW / 4;

/// Headers of a call: a name, a token, a trace. 16 KiB is what proxies allow as well.
const MAX_HEADER_BYTES: u32 = 16 * 1024;

/// How long open calls may still take once the server stops. A stop takes 10 s at most, and the store needs some of it.
const GRACE: Duration = Duration::from_secs(7);

/// Why serving ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The descriptors for reflection cannot be read: the build is broken.
    #[error("the descriptors of the API cannot be read")]
    Descriptors(#[source] tonic_reflection::server::Error),
    /// The listener failed.
    #[error("the gRPC server ended")]
    Transport(#[source] tonic::transport::Error),
}

/// Serves until `stop` is cancelled; then answers what is open, refuses what is new, and returns. Health says so as soon
/// as the edge's own stop is cancelled, which may come earlier.
pub async fn serve<J: Judge, L: Ledger>(
    edge: Edge<J, L>,
    listener: impl Into<Listener>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<OwnershipServer<Edge<J, L>>>().await;
    health.set_serving::<LedgerServer<Edge<J, L>>>().await;
    health.set_serving::<OperationsServer<Edge<J, L>>>().await;
    let draining = edge.stop.clone();
    let router = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .tcp_nodelay(true)
        .max_concurrent_streams(Some(MAX_STREAMS))
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .http2_max_pending_accept_reset_streams(Some(MAX_GIVEN_UP))
        .http2_max_header_list_size(Some(MAX_HEADER_BYTES))
        .layer(EnvelopeLayer)
        .layer(DoorLayer::new(edge.keeper.clone()))
        .add_service(health_service)
        .add_service(reflection().build_v1().map_err(ServeError::Descriptors)?)
        .add_service(reflection().build_v1alpha().map_err(ServeError::Descriptors)?)
        .add_service(OwnershipServer::new(edge.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(LedgerServer::new(edge.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(OperationsServer::new(edge).max_decoding_message_size(MAX_MESSAGE_BYTES));
    let told = {
        let stop = stop.clone();
        async move {
            tokio::select! {
                () = draining.cancelled() => {}
                () = stop.cancelled() => {}
            }
            health
                .set_service_status("", tonic_health::ServingStatus::NotServing)
                .await;
            health.set_not_serving::<OwnershipServer<Edge<J, L>>>().await;
            health.set_not_serving::<LedgerServer<Edge<J, L>>>().await;
            health.set_not_serving::<OperationsServer<Edge<J, L>>>().await;
            stop.cancelled().await;
        }
    };
    let incoming = Incoming::from(listener.into());
    let serving = router.serve_with_incoming_shutdown(incoming, told);
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = serving => ended.map_err(ServeError::Transport),
        // Streams that never end by themselves, such as a health watch, do not hold up a stop.
        () = overdue => Ok(()),
    }
}

fn reflection() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
