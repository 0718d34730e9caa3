//! Puts committer, gate, sweeper and edge together on one store, serves until told to stop, and drains: open calls are
//! answered, new ones refused. Which store it is, and who starts its database, is the caller's.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::auth::{Doors, refresh};
use crate::committer::Committer;
use crate::config;
use crate::grpc;
use crate::service::Gate;
use crate::service::ledger::Ledger;
use crate::store::Connect;
use crate::sweeper::{self, Upkeep};

/// What open calls may take once the server stops. The three lengths together are less than the ten seconds after which
/// whoever asked for the stop kills.
const OPEN_CALLS: Duration = Duration::from_secs(6);

/// What their answers may take to leave.
const LAST_ANSWERS: Duration = Duration::from_millis(1_500);

/// What transactions may take whose callers have gone.
const LAST_TRANSACTIONS: Duration = Duration::from_millis(1_500);

/// The store, by what each part needs of it.
#[derive(Debug)]
pub struct Store<C, L, U> {
    /// For the committer.
    pub connect: Arc<C>,
    /// For screens and waiters.
    pub ledger: Arc<L>,
    /// For the sweeper.
    pub upkeep: U,
}

/// Why serving ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else has the port, or the address is not this machine's.
    #[error("cannot listen on {address}; is another server running there? --listen names another address")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The edge gave up.
    #[error(transparent)]
    Edge(#[from] grpc::ServeError),
}

/// Serves until `stop`. Says on standard output where, in a line that programs can wait for.
pub async fn serve<C: Connect, L: Ledger, U: Upkeep>(
    store: Store<C, L, U>,
    options: &config::Server,
    doors: Doors,
    stop: CancellationToken,
) -> Result<(), Error> {
    let address = options.listen;
    let failed = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;

    let protocol = options.protocol();
    let committing = options.committer();
    let committer = Arc::new(Committer::start(store.connect, protocol, committing));
    // One batch under way and one gathered in every lane; more would wait there, where nobody takes turns.
    let gate = Gate::new(Arc::clone(&committer), 2 * committing.lanes * committing.batch);
    let edge = grpc::Edge::new(Arc::new(gate.clone()), store.ledger, protocol, gate.closing());
    let edge = edge.behind(doors.keeper);
    let listener = grpc::Listener::new(listener, doors.tls);
    let sweeping = CancellationToken::new();
    let sweeper = tokio::spawn(sweeper::run(
        store.upkeep,
        Arc::clone(&committer),
        sweeping.clone(),
    ));

    let looking = tokio::spawn(refresh::keep_looking(doors.files, sweeping.clone()));

    tell(&format!("deed-server ready on {bound}"));
    tracing::info!(server.address = %bound, "ready");
    let closing = CancellationToken::new();
    let mut serving = std::pin::pin!(grpc::serve(edge, listener, closing.clone()));
    let ended = tokio::select! {
        ended = &mut serving => Some(ended),
        () = stop.cancelled() => None,
    };

    tracing::info!("stopping: open calls are answered, new ones refused");
    // SUBTLE: connections stay open until the calls on them are answered. Closed at once, a call that is on its way just
    // now would find a connection that goes away, and its caller would learn nothing.
    gate.close();
    sweeping.cancel();
    let ended = match ended {
        Some(ended) => Some(ended),
        None => tokio::select! {
            ended = &mut serving => Some(ended),
            _empty = timeout(OPEN_CALLS, gate.empty()) => None,
        },
    };
    closing.cancel();
    let ended = match ended {
        Some(ended) => ended,
        None => timeout(LAST_ANSWERS, serving).await.unwrap_or(Ok(())),
    };
    let drained = timeout(LAST_TRANSACTIONS, async {
        // A sweep that is cut off has lost nothing: the next one finds the same rows.
        let _swept = sweeper.await;
        let _looked = looking.await;
        committer.stop().await;
    });
    if drained.await.is_err() {
        tracing::warn!("stopping although some transactions have not ended; their callers will repeat them");
    }
    Ok(ended?)
}

/// One line for whoever started the server. Nobody may read it any more; that is no reason to stop.
pub(crate) fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    let _unread = writeln!(output, "{line}").and_then(|()| output.flush());
}
