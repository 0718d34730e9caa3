//! Answers that do not arrive, and connections that die without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use deed_client::{Deed, Observation, Receipt, State};
use deed_proto::v1;
use deed_tests::receiver::{EffectRequest, Receiver};
use deed_tests::support::proxy::{Proxy, Weather};
use deed_tests::support::until;
use deed_tests::support::work::{NAMESPACE, TOOL, Told, Work, Worker};
use tokio::sync::Notify;

use crate::{Field, PATIENCE, deduplicated, length, ms, serialized, within};

#[tokio::test]
async fn b19_a_claim_whose_answer_was_lost_is_answered_with_the_same_grant() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let proxy = Proxy::start(field.server().address).await?;
    let (w1, w2) = (Worker::at(&proxy.url(), "w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &deduplicated());
    // Connects, so that only the answer is lost.
    let unknown = w1.screen().action(&work).await;
    ensure!(unknown.is_err_and(|status| status.code() == tonic::Code::NotFound));

    proxy.weather_for_present(Weather::RepliesLost);
    let request = w1.claim_request(&work, false);
    let lost = {
        let (w1, request) = (w1.clone(), request.clone());
        tokio::spawn(async move { w1.send_claim(request).await })
    };
    let screen = w2.screen();
    let committed = || async { Ok(screen.action(&work).await.is_ok()) };
    until(PATIENCE, "the claim is committed", committed).await?;
    proxy.weather_for_present(Weather::Cut);
    ensure!(lost.await?.is_err(), "the answer was not lost");
    let lease = screen.action(&work).await?.lease.context("there is no lease")?;

    let again = w1.send_claim(request.clone()).await?.execute()?;
    ensure!(again.fencing_token == screen.action(&work).await?.fencing_token);
    ensure!(again.lease_expires_at == lease.expires_at);
    ensure!(length(again.lease_left) <= deed_client::seconds(30));
    w1.claim(&work).await?.held()?;

    // The request id of somebody else never hands out the token.
    let mut stolen = request.clone();
    stolen.owner = "w2".to_owned();
    match w2.send_claim(stolen).await {
        Ok(answer) => drop(answer.held()?),
        Err(status) => ensure!(status.code() == tonic::Code::InvalidArgument, "{status}"),
    }

    w1.begin(&work, again.fencing_token).await?.execute()?;
    let report = w1.report_request(&work, again.fencing_token, &Receipt::completed("ch-1"));
    for _ in 0..2 {
        let settled = w1.send_report(report.clone()).await?.settled()?;
        ensure!(settled.external_id == "ch-1");
    }
    let events = screen.events(&work).await?;
    let of_kind = |kind: v1::EventKind| events.iter().filter(|event| event.kind() == kind).count();
    ensure!(
        of_kind(v1::EventKind::Granted) == 1 && of_kind(v1::EventKind::Reported) == 1,
        "{events:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn b19_the_client_repeats_lost_claims_and_reports_and_one_effect_comes_of_it() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let proxy = Arc::new(Proxy::start(field.server().address).await?);
    let receiver = Receiver::start().await?;
    let deed = Deed::builder()
        .namespace(NAMESPACE)
        .call_timeout(ms(500))
        .connect(&proxy.url())?;
    // The first connection loses every answer, the second is sound.
    proxy.weather_for_new(Weather::RepliesLost);
    let heal = {
        let proxy = Arc::clone(&proxy);
        tokio::spawn(async move {
            proxy.until_accepted(1).await;
            proxy.weather_for_new(Weather::Fair);
        })
    };
    let sent = AtomicUsize::new(0);
    let client = receiver.client(PATIENCE)?;
    let outcome = deed
        .action("order-1")
        .tool(TOOL)
        .input_bytes(b"1")
        .contract(serialized())
        .perform(
            |_grant| async {
                sent.fetch_add(1, Ordering::SeqCst);
                drop(client.apply(&EffectRequest::new("order-1", "charge", &[])).await);
                // Now the answer to the report goes missing.
                proxy.weather_for_present(Weather::RepliesLost);
                Receipt::completed("ch-1")
            },
            |_lookup| async { Observation::unknown("not asked for") },
        );
    let outcome = within("the outcome", outcome).await??;
    heal.await?;
    ensure!(outcome.confirmed(), "{outcome:?}");
    ensure!(
        sent.load(Ordering::SeqCst) == 1 && receiver.effects("order-1").len() == 1,
        "{:?}",
        receiver.effects("order-1")
    );
    ensure!(proxy.accepted() >= 3, "nothing was lost");
    let work = Work::new("order-1", &serialized());
    let screen = field.worker("screen")?.screen();
    let events = screen.events(&work).await?;
    ensure!(
        events.len() == 2,
        "granted and begun at once, reported: {events:#?}"
    );
    Ok(())
}

/// A send that lasts until it is told to end, under a lease that is renewed over the proxy.
struct Send {
    field: Field,
    proxy: Proxy,
    deed: Deed,
    started: Arc<Notify>,
    finish: Arc<Notify>,
}

/// Long enough that a third of it is a call on a busy machine.
const LEASE: Duration = Duration::from_secs(3);

impl Send {
    async fn prepare() -> anyhow::Result<Self> {
        let field = Field::start().await?;
        let proxy = Proxy::start(field.server().address).await?;
        let deed = Deed::builder()
            .namespace(NAMESPACE)
            .report_deadline(deed_client::seconds(1))
            .connect(&proxy.url())?;
        Ok(Self {
            field,
            proxy,
            deed,
            started: Arc::default(),
            finish: Arc::default(),
        })
    }

    fn perform(&self) -> tokio::task::JoinHandle<Result<deed_client::Outcome, deed_client::Error>> {
        let contract = serialized().lease(LEASE).send_timeout(PATIENCE);
        let action = self.deed.action("order-1").tool(TOOL).input_bytes(b"1");
        let (started, finish) = (Arc::clone(&self.started), Arc::clone(&self.finish));
        let performing = action.contract(contract).patience(Duration::ZERO).perform(
            move |_grant| {
                let (started, finish) = (Arc::clone(&started), Arc::clone(&finish));
                async move {
                    started.notify_one();
                    finish.notified().await;
                    Receipt::completed("ch-1")
                }
            },
            |_lookup| async { Observation::unknown("not asked for") },
        );
        tokio::spawn(performing)
    }

    async fn lease_expires_at(&self) -> anyhow::Result<prost_types::Timestamp> {
        let work = Work::new("order-1", &serialized());
        let action = self.field.worker("screen")?.screen().action(&work).await?;
        action
            .lease
            .and_then(|lease| lease.expires_at)
            .context("there is no lease")
    }
}

#[tokio::test]
async fn b48_a_renewal_over_a_connection_that_fell_silent_goes_over_a_new_one_and_the_lease_is_kept()
-> anyhow::Result<()> {
    let send = Send::prepare().await?;
    let performing = send.perform();
    within("the send", send.started.notified()).await?;
    let before = send.lease_expires_at().await?;
    send.proxy.weather_for_present(Weather::BlackHole);
    let silent_at = Instant::now();
    // Past the lease that was granted: without a renewal it would be lost by now.
    let renewed = || async {
        let now = send.lease_expires_at().await?;
        Ok((now.seconds, now.nanos) > (before.seconds, before.nanos))
    };
    until(LEASE, "the lease is renewed over another connection", renewed).await?;
    ensure!(silent_at.elapsed() < LEASE, "{:?}", silent_at.elapsed());
    tokio::time::sleep(LEASE).await;
    send.finish.notify_one();
    let outcome = within("the outcome", performing).await???;
    ensure!(outcome.confirmed(), "{outcome:?}");
    ensure!(
        outcome
            .settled()
            .is_some_and(|settled| settled.state == State::Confirmed)
    );
    Ok(())
}

#[tokio::test]
async fn b48_where_no_connection_comes_about_the_send_is_cut_off_at_the_end_of_the_lease()
-> anyhow::Result<()> {
    let send = Send::prepare().await?;
    let granted = Instant::now();
    let performing = send.perform();
    within("the send", send.started.notified()).await?;
    send.proxy.weather(Weather::BlackHole);
    // The executor never ends: what ends it is the guard.
    let ended = within("the end", performing).await??;
    let Err(deed_client::Error::ReportUndelivered { receipt, .. }) = ended else {
        anyhow::bail!("the report arrived: {ended:?}");
    };
    ensure!(receipt.name() == "UNKNOWN", "{receipt:?}");
    // The report has a second of its own, and its last try a moment.
    ensure!(
        granted.elapsed() < LEASE + deed_client::seconds(2),
        "{:?}",
        granted.elapsed()
    );
    Ok(())
}
