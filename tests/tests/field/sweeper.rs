//! B05: the sweeper only writes down what time has decided, however long it was paused in between.

use std::sync::Arc;

use anyhow::ensure;
use deed_client::Receipt;
use deed_core::Protocol;
use deed_core::id::ActionKey;
use deed_proto::v1;
use deed_server::committer::{self, Committer};
use deed_server::store::{self, Connector, Reader, migrate};
use deed_server::sweeper::{self, Upkeep};
use deed_server::{grpc, service};
use deed_tests::support::database;
use deed_tests::support::work::{Told, Work, Worker};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::owners::lapse;
use crate::{ms, serialized, within};

/// Lists like the server's own, and then waits: paused between the read and the writes.
struct Paused {
    reader: Reader,
    listed: Arc<Notify>,
    proceed: Arc<Semaphore>,
}

impl Upkeep for Paused {
    async fn lapsed(&self, limit: u32) -> Result<Vec<ActionKey>, store::Error> {
        let keys = self.reader.lapsed(limit).await?;
        self.listed.notify_one();
        if let Ok(permit) = self.proceed.acquire().await {
            permit.forget();
        }
        Ok(keys)
    }

    async fn prepare_days(&self) -> Result<(), store::Error> {
        self.reader.prepare_days().await
    }
}

#[tokio::test]
async fn b05_a_sweeper_that_was_paused_between_its_read_and_its_writes_changes_nothing() -> anyhow::Result<()>
{
    // A server without a sweeper, so that this one is the only one.
    let database = database().await;
    let store = store::Database::parse(&database.url)?;
    migrate(&store).await?;
    let reader = Reader::new(store.clone());
    let connect = Arc::new(Connector::new(store));
    let protocol = Protocol::default();
    let committer = Arc::new(Committer::start(connect, protocol, committer::Options::default()));
    let stop = CancellationToken::new();
    let _stops = stop.clone().drop_guard();
    let gate = Arc::new(service::Gate::new(Arc::clone(&committer), 100));
    let edge = grpc::Edge::new(gate, Arc::new(reader.clone()), protocol, stop.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(grpc::serve(edge, listener, stop.clone()));

    let (w1, w2) = (Worker::at(&url, "w1")?, Worker::at(&url, "w2")?);
    let contract = serialized().lease(ms(1_500));
    let completed = Work::new("completed", &contract);
    let taken_over = Work::new("taken-over", &contract);
    let unbegun = Work::new("unbegun", &contract);
    let token = w1.claim_begun(&completed).await?.execute()?.fencing_token;
    w1.claim_begun(&taken_over).await?.execute()?;
    w1.claim(&unbegun).await?.execute()?;
    for work in [&completed, &taken_over, &unbegun] {
        lapse(&w2, work).await?;
    }

    let (listed, proceed) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let paused = Paused {
        reader: reader.clone(),
        listed: Arc::clone(&listed),
        proceed: Arc::clone(&proceed),
    };
    ensure!(reader.lapsed(10).await?.len() >= 2, "nothing has lapsed");
    tokio::spawn(sweeper::run(paused, committer, stop.clone()));
    within("the sweeper's list", listed.notified()).await?;

    w1.report(&completed, token, &Receipt::completed("ch-1"))
        .await?
        .settled()?;
    w2.claim(&taken_over).await?.verify_effect()?;
    w2.claim(&unbegun).await?.execute()?;
    let screen = w2.screen();
    let mut before = Vec::new();
    for work in [&completed, &taken_over, &unbegun] {
        before.push((still(screen.action(work).await?), screen.events(work).await?));
    }

    proceed.add_permits(1);
    // The next list is read once every command of this sweep has been judged.
    within("the sweep", listed.notified()).await?;
    for (work, before) in [&completed, &taken_over, &unbegun].into_iter().zip(before) {
        let after = (still(screen.action(work).await?), screen.events(work).await?);
        ensure!(after == before, "{}: {before:?} {after:?}", work.id());
    }
    Ok(())
}

/// Without what changes by the mere passing of time.
fn still(mut action: v1::Action) -> v1::Action {
    action.next_step = None;
    if let Some(lease) = &mut action.lease {
        lease.left = None;
    }
    action
}
