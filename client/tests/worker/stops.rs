//! A polite stop is never worse than a kill: what has not begun is free at once, the rest is told honestly.

use std::future::{pending, ready};

use deed_client::{Error, NotSentReason, Observation, Receipt, hours, seconds, v1};
use tokio::sync::{oneshot, watch};
use v1::receipt::Kind;

use crate::fake::{Fake, Reply};
use crate::steps::{charge, execute, held, mail, unbegun, verify};

fn kind(report: &v1::ReportRequest) -> &Kind {
    report.receipt.as_ref().unwrap().kind.as_ref().unwrap()
}

/// An executor that says when it runs and never ends, or ends when told to.
fn sending(
    gate: watch::Receiver<bool>,
) -> (impl FnMut(deed_client::Grant) -> Running, oneshot::Receiver<()>) {
    let (started, start) = oneshot::channel();
    let mut started = Some(started);
    let execute = move |_| {
        started.take().unwrap().send(()).unwrap();
        let mut gate = gate.clone();
        Box::pin(async move {
            gate.wait_for(|open| *open).await.unwrap();
            Receipt::completed("X")
        }) as Running
    };
    (execute, start)
}

type Running = std::pin::Pin<Box<dyn Future<Output = Receipt> + Send>>;

#[tokio::test]
async fn b43_a_stop_in_the_middle_of_a_send_reports_unknown_and_waits_for_the_answer() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1));
    let deed = fake.deed();
    let (_open, gate) = watch::channel(false);
    let (execute, start) = sending(gate);
    let running = tokio::spawn(charge(&deed, "a").perform_without_verify(execute));
    start.await.unwrap();
    deed.shutdown().await;
    let reports = fake.reports(1).await;
    assert!(
        matches!(kind(&reports[0]), Kind::Unknown(unknown) if !unknown.ended),
        "{reports:?}"
    );
    assert!(matches!(running.await.unwrap(), Err(Error::Stopping)));
    assert_eq!(fake.order(), ["Claim", "Report"]);
}

#[tokio::test]
async fn a_stop_with_grace_lets_the_send_end() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1));
    let deed = fake.deed();
    let (open, gate) = watch::channel(false);
    let (execute, start) = sending(gate);
    let running = tokio::spawn(charge(&deed, "a").perform_without_verify(execute));
    start.await.unwrap();
    let draining = tokio::spawn({
        let deed = deed.clone();
        async move { deed.drain(seconds(10)).await }
    });
    // New work is refused once the stop has begun.
    while !matches!(
        charge(&deed, "b")
            .perform_without_verify(|_| pending::<Receipt>())
            .await,
        Err(Error::Stopping)
    ) {}
    open.send(true).unwrap();
    draining.await.unwrap();
    assert!(running.await.unwrap().unwrap().confirmed());
    assert!(matches!(kind(&fake.reports(1).await[0]), Kind::Completed(_)));
}

#[tokio::test]
async fn b43_a_stop_before_begin_releases() {
    let fake = Fake::start().await;
    let (open, gate) = watch::channel(false);
    fake.on("Claim", Reply::When(gate, unbegun(1)));
    let deed = fake.deed();
    let running = tokio::spawn(mail(&deed, "a").perform_without_verify(|_| pending::<Receipt>()));
    fake.seen("Claim", 1).await;
    let stopping = tokio::spawn({
        let deed = deed.clone();
        async move { deed.shutdown().await }
    });
    while charge(&deed, "b")
        .perform_without_verify(|_| pending::<Receipt>())
        .await
        .is_ok()
    {}
    open.send(true).unwrap();
    stopping.await.unwrap();
    assert!(matches!(running.await.unwrap(), Err(Error::Stopping)));
    fake.seen("Release", 1).await;
    assert!(fake.calls("Begin").is_empty() && fake.calls("Report").is_empty());
}

#[tokio::test]
async fn b43_a_stop_after_begin_and_before_the_send_says_that_nothing_was_sent() {
    let fake = Fake::start().await;
    let (open, gate) = watch::channel(false);
    fake.step("Claim", unbegun(1))
        .on("Begin", Reply::When(gate, execute(1)));
    let deed = fake.deed();
    let running = tokio::spawn(mail(&deed, "a").perform_without_verify(|_| pending::<Receipt>()));
    fake.seen("Begin", 1).await;
    deed.shutdown().await;
    let reports = fake.reports(1).await;
    assert!(
        matches!(kind(&reports[0]), Kind::NotSent(not_sent) if not_sent.reason() == NotSentReason::Shutdown)
    );
    open.send(true).unwrap();
    assert!(matches!(running.await.unwrap(), Err(Error::Stopping)));
}

#[tokio::test]
async fn a_stop_during_a_lookup_releases_it() {
    let fake = Fake::start().await;
    fake.step("Claim", verify(1));
    let deed = fake.deed();
    let (started, start) = oneshot::channel();
    let mut started = Some(started);
    let running = tokio::spawn(charge(&deed, "a").reconcile(move |_| {
        started.take().unwrap().send(()).unwrap();
        pending::<Observation>()
    }));
    start.await.unwrap();
    deed.shutdown().await;
    assert!(matches!(running.await.unwrap(), Err(Error::Stopping)));
    assert_eq!(fake.order(), ["Claim", "Release"]);
}

#[tokio::test]
async fn a_stop_ends_every_wait() {
    let fake = Fake::start().await;
    fake.step("Claim", held(hours(1)));
    let deed = fake.deed();
    let action = charge(&deed, "a").patience(hours(2));
    let running = tokio::spawn(action.perform_without_verify(|_| ready(Receipt::completed("X"))));
    fake.seen("Claim", 1).await;
    deed.shutdown().await;
    assert!(matches!(running.await.unwrap(), Err(Error::Stopping)));
}
