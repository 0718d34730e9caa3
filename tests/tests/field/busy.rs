//! B06: neither a busy runtime nor a crowd of other calls takes a lease away unseen. What cannot be renewed is not acted
//! under.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_client::{Contract, Outcome, Receipt, seconds};
use deed_proto::v1;
use deed_proto::v1::renew_result;
use deed_tests::support::server::Options;
use deed_tests::support::until;
use deed_tests::support::work::{Told, Work, Worker};
use futures::future::join_all;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::clocks::Holder;
use crate::owners::lapse;
use crate::shop::{Clerk, ORDER, Shop, named, quick};
use crate::{Field, deduplicated, ms, within};

const LEASE: Duration = Duration::from_secs(2);

/// As much longer than the lease as in the scenario: 12 s to 5 s.
const BUSY: Duration = Duration::from_millis(4_800);

/// A client whose whole runtime is one thread, and can be kept busy.
struct Client {
    /// Keeps the thread busy once it is told; answers when it is.
    keep_busy: oneshot::Sender<oneshot::Sender<()>>,
    outcome: oneshot::Receiver<anyhow::Result<Outcome>>,
}

impl Client {
    /// On a thread of its own, it charges the order.
    fn start(url: String, contract: Contract, receiver: deed_tests::receiver::ReceiverClient) -> Self {
        let (keep_busy, told) = oneshot::channel::<oneshot::Sender<()>>();
        let (tell, outcome) = oneshot::channel();
        thread::spawn(move || {
            let charged = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("no runtime")
                .and_then(|runtime| {
                    runtime.spawn(async move {
                        if let Ok(busy) = told.await {
                            let _heard = busy.send(());
                            thread::sleep(BUSY);
                        }
                    });
                    runtime.block_on(async { Clerk::at(&url, receiver)?.charge(ORDER, contract).await })
                });
            // The test may have failed already.
            let _unheard = tell.send(charged);
        });
        Self { keep_busy, outcome }
    }

    /// From when this returns, the runtime does nothing for a while.
    async fn keep_busy(self) -> anyhow::Result<oneshot::Receiver<anyhow::Result<Outcome>>> {
        let (tell, busy) = oneshot::channel();
        ensure!(self.keep_busy.send(tell).is_ok(), "the client has ended");
        within("the busy runtime", busy).await??;
        Ok(self.outcome)
    }
}

#[tokio::test]
async fn b06_a_client_whose_runtime_was_busy_past_its_lease_does_not_begin_under_it() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let contract = || Contract::at_most_once().lease(LEASE);
    let work = named(ORDER);
    let clerk = shop.clerk()?;
    let _planned = clerk.action(ORDER, contract()).plan().await?;
    let holder = Holder::take(&shop.field, &work).await?;
    let client = Client::start(shop.field.server().url(), contract(), shop.client.clone());
    let psql = shop.field.psql().await?;
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND application_name = 'deed-server' AND wait_event_type = 'Lock'";
    let waits = || async { Ok(psql.query_one(waiting, &[]).await?.get::<_, i64>(0) > 0) };
    until(seconds(20), "the claim waits for the row", waits).await?;

    // The grant arrives, and nobody looks at it before its lease is over.
    let outcome = client.keep_busy().await?;
    holder.let_go().await?;
    let screen = shop.screen()?;
    let granted = || async { Ok(screen.action(&work).await?.lease.is_some()) };
    until(seconds(20), "the claim is granted", granted).await?;
    lapse(&shop.field.worker("w2")?, &work).await?;
    let outcome = within("the outcome", outcome).await???;
    ensure!(outcome.confirmed(), "{outcome:?}");

    let effect = shop.one_effect(ORDER)?;
    let events = shop.events(ORDER).await?;
    let granted: Vec<u64> = events
        .iter()
        .filter(|event| event.kind() == v1::EventKind::Granted)
        .map(|event| event.fencing_token)
        .collect();
    ensure!(
        granted.len() == 2,
        "one grant was overslept, one used: {events:#?}"
    );
    let begun = events.iter().filter(|event| event.attempt > 0);
    ensure!(begun.clone().count() > 0);
    for event in begun {
        ensure!(event.fencing_token == granted[1], "{event:?}");
    }
    ensure!(
        effect.fencing_token.is_some_and(|token| token.0 == granted[1]),
        "{effect:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b06_a_lease_is_renewed_while_the_executor_keeps_its_thread_busy() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let clerk = shop.clerk()?;
    let other = shop.clerk()?;
    let (started, executing) = oneshot::channel();
    let started = std::sync::Mutex::new(Some(started));
    let contract = || quick().lease(LEASE).send_timeout(2 * BUSY);
    let performing = clerk.action(ORDER, contract()).perform_without_verify(|grant| {
        if let Ok(mut started) = started.lock()
            && let Some(started) = started.take()
        {
            let _heard = started.send(());
        }
        // No await: nothing else runs on this thread meanwhile.
        thread::sleep(BUSY);
        let live = !grant.time_left().is_zero();
        async move {
            if live {
                Receipt::completed("ch-1")
            } else {
                Receipt::unknown("the lease is lost")
            }
        }
    });
    let competing = tokio::spawn(async move {
        executing.await?;
        let until = tokio::time::Instant::now() + BUSY - ms(300);
        let mut held = 0;
        while tokio::time::Instant::now() < until {
            let action = other.action(ORDER, contract());
            let outcome = action
                .patience(Duration::ZERO)
                .perform_without_verify(|_| async { Receipt::completed("a second effect") })
                .await?;
            ensure!(outcome.settled().is_none(), "{outcome:?}");
            held += 1;
            tokio::time::sleep(ms(200)).await;
        }
        Ok(held)
    });
    let outcome = performing.await?;
    ensure!(outcome.confirmed(), "{outcome:?}");
    let held = competing.await??;
    ensure!(held > 5, "only {held} claims came in between");
    ensure!(shop.action(ORDER).await?.attempts == 1);
    Ok(())
}

/// From the scenario.
const RENEWAL_WITHIN: Duration = Duration::from_millis(1_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b06_every_renewal_is_answered_in_time_while_claims_crowd_the_only_other_connection()
-> anyhow::Result<()> {
    // One lane, and the one for renewals: two connections.
    let field = Field::with(Options::default().with(&["--lanes", "1"])).await?;
    let worker = field.worker("w1")?;
    let work = Work::new("held", &deduplicated().lease(seconds(5)));
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    let over = Arc::new(AtomicBool::new(false));
    let crowd = (0..200).map(|_| tokio::spawn(claim_until(field.worker("crowd"), Arc::clone(&over))));
    let crowd: Vec<_> = crowd.collect();
    for _ in 0..12 {
        let renewed = timeout(RENEWAL_WITHIN, worker.renew(&work, token)).await;
        let renewed = renewed.context("a renewal took longer")??;
        ensure!(matches!(renewed, renew_result::Result::Renewed(_)), "{renewed:?}");
        tokio::time::sleep(ms(500)).await;
    }
    over.store(true, Ordering::Relaxed);
    let mut claims = 0;
    for claimed in join_all(crowd).await {
        claims += claimed??;
    }
    ensure!(claims > 1_000, "only {claims} claims");
    Ok(())
}

async fn claim_until(worker: anyhow::Result<Worker>, over: Arc<AtomicBool>) -> anyhow::Result<usize> {
    let worker = worker?;
    let mut claims = 0;
    while !over.load(Ordering::Relaxed) {
        worker.claim(&Work::fresh(&deduplicated())).await?.execute()?;
        claims += 1;
    }
    Ok(claims)
}
