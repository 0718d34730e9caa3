//! No send under a lease that is not surely live, and an honest receipt for every send that was cut off.

use std::cell::Cell;
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deed_client::{Clock, NotSentReason, Receipt, SystemClock, seconds, v1};
use v1::receipt::Kind;
use v1::renew_result::Result as Renewal;

use crate::fake::{Call, Fake, Reply};
use crate::steps::{answer, charge, execute, granted, lasting, mail, settled, unbegun, wire};

/// A machine that sleeps when a test says so.
#[derive(Debug, Default)]
struct Sleepy {
    machine: SystemClock,
    slept: AtomicU64,
}

impl Clock for Sleepy {
    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn wall(&self) -> Duration {
        self.machine.wall() + Duration::from_secs(self.slept.load(Ordering::SeqCst))
    }
}

fn unknown(report: &v1::ReportRequest) -> (&str, bool) {
    match report.receipt.as_ref().and_then(|receipt| receipt.kind.as_ref()) {
        Some(Kind::Unknown(unknown)) => (&unknown.reason, unknown.ended),
        other => panic!("{other:?} is not unknown"),
    }
}

fn not_sent(report: &v1::ReportRequest) -> NotSentReason {
    match report.receipt.as_ref().and_then(|receipt| receipt.kind.as_ref()) {
        Some(Kind::NotSent(not_sent)) => not_sent.reason(),
        other => panic!("{other:?} does not say that nothing was sent"),
    }
}

#[tokio::test]
async fn b06_a_lease_that_is_over_before_the_send_is_not_sent_under() {
    let fake = Fake::start().await;
    fake.step("Claim", lasting(1, Duration::ZERO));
    let deed = fake.deed();
    let sent = Cell::new(false);
    let outcome = charge(&deed, "a").perform_without_verify(|_| {
        sent.set(true);
        ready(Receipt::completed("X"))
    });
    let _settled = outcome.await.unwrap();
    assert!(!sent.get());
    assert_eq!(not_sent(&fake.reports(1).await[0]), NotSentReason::GuardRefused);
}

#[tokio::test]
async fn a_gate_that_does_not_answer_is_not_passed() {
    let fake = Fake::start().await;
    let v1::next_step::Kind::Execute(grant) = unbegun(1) else {
        unreachable!()
    };
    let short = v1::Execute {
        lease_left: wire(Duration::from_millis(300)),
        ..grant
    };
    fake.step("Claim", v1::next_step::Kind::Execute(short))
        .on("Begin", Reply::Silence);
    for _ in 0..20 {
        fake.on("Renew", Reply::Silence);
    }
    let deed = fake.deed();
    let action = mail(&deed, "a");
    let _settled = action
        .perform_without_verify(|_| pending::<Receipt>())
        .await
        .unwrap();
    assert_eq!(not_sent(&fake.reports(1).await[0]), NotSentReason::GuardRefused);
}

#[tokio::test]
async fn time_waited_inside_the_service_leaves_the_whole_lease() {
    let fake = Fake::start().await;
    let (open, gate) = tokio::sync::watch::channel(false);
    let waited = Duration::from_millis(400);
    let grant = v1::Execute {
        lease_left: wire(Duration::from_millis(300)),
        waited: wire(waited),
        ..granted(1)
    };
    fake.on("Claim", Reply::When(gate, v1::next_step::Kind::Execute(grant)));
    let deed = fake.deed();
    let running = tokio::spawn(charge(&deed, "a").perform_without_verify(|grant| async move {
        // Of 300 ms; without the time waited the lease would be over by now.
        assert!(
            grant.time_left() > Duration::from_millis(100),
            "{:?}",
            grant.time_left()
        );
        Receipt::completed("X")
    }));
    fake.seen("Claim", 1).await;
    tokio::time::sleep(waited).await;
    open.send(true).unwrap();
    assert!(running.await.unwrap().unwrap().confirmed());
    let kind = fake.reports(1).await.remove(0).receipt.unwrap().kind;
    assert!(matches!(kind, Some(Kind::Completed(_))), "{kind:?}");
}

#[tokio::test]
async fn a_lease_from_a_repeated_claim_counts_from_the_repeat() {
    let fake = Fake::start().await;
    let lost = Duration::from_millis(400);
    fake.on("Claim", Reply::Silence)
        .step("Claim", lasting(1, Duration::from_millis(500)));
    let deed = fake.connect(fake.client().call_timeout(lost));
    let outcome = charge(&deed, "a").perform_without_verify(|grant| async move {
        assert!(
            grant.time_left() > Duration::from_millis(200),
            "{:?}",
            grant.time_left()
        );
        Receipt::completed("X")
    });
    assert!(outcome.await.unwrap().confirmed());
    let kind = fake.reports(1).await.remove(0).receipt.unwrap().kind;
    assert!(matches!(kind, Some(Kind::Completed(_))), "{kind:?}");
}

#[tokio::test]
async fn a_machine_that_slept_sends_nothing() {
    let fake = Fake::start().await;
    let clock = Arc::new(Sleepy::default());
    let (open, gate) = tokio::sync::watch::channel(false);
    fake.step("Claim", unbegun(1))
        .on("Begin", Reply::When(gate, execute(1)));
    let deed = fake.connect(fake.client().clock(clock.clone()));
    let running = tokio::spawn(mail(&deed, "a").perform_without_verify(|_| ready(Receipt::completed("X"))));
    fake.seen("Begin", 1).await;
    clock.slept.store(3_600, Ordering::SeqCst);
    open.send(true).unwrap();
    let _settled = running.await.unwrap().unwrap();
    assert_eq!(not_sent(&fake.reports(1).await[0]), NotSentReason::GuardRefused);
}

#[tokio::test]
async fn a_send_is_cut_off_when_the_lease_is_lost() {
    let fake = Fake::start().await;
    let lost = answer(settled("Y")).next_step.unwrap();
    fake.step("Claim", lasting(1, Duration::from_millis(600)))
        .on("Renew", Reply::Renewal(Renewal::Lost(lost)));
    let deed = fake.deed();
    let _settled = charge(&deed, "a")
        .perform_without_verify(|_| pending::<Receipt>())
        .await
        .unwrap();
    let reports = fake.reports(1).await;
    let (reason, ended) = unknown(&reports[0]);
    assert!(reason.contains("no longer surely live") && !ended, "{reason}");
}

#[tokio::test]
async fn b48_a_send_is_cut_off_when_the_lease_cannot_be_renewed() {
    let fake = Fake::start().await;
    let lease = Duration::from_millis(600);
    fake.step("Claim", lasting(1, lease));
    for _ in 0..20 {
        fake.on("Renew", Reply::Silence);
    }
    let deed = fake.deed();
    let _settled = charge(&deed, "a")
        .perform_without_verify(|_| pending::<Receipt>())
        .await
        .unwrap();
    let (claimed, reported) = (fake.calls("Claim")[0].0, fake.calls("Report")[0].0);
    assert!(
        reported - claimed < lease + Duration::from_millis(300),
        "{:?}",
        reported - claimed
    );
    assert!(!unknown(&fake.reports(1).await[0]).1);
}

#[tokio::test]
async fn a_send_is_cut_off_at_its_send_timeout() {
    let fake = Fake::start().await;
    let grant = v1::Execute {
        send_timeout: wire(Duration::from_millis(50)),
        ..granted(1)
    };
    fake.step("Claim", v1::next_step::Kind::Execute(grant));
    let deed = fake.deed();
    let _settled = charge(&deed, "a")
        .perform_without_verify(|_| pending::<Receipt>())
        .await
        .unwrap();
    let reports = fake.reports(1).await;
    let (reason, ended) = unknown(&reports[0]);
    assert!(reason.contains("send timeout of 50ms") && !ended, "{reason}");
}

#[tokio::test]
async fn a11_an_executor_that_fails_or_panics_is_unknown() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1)).step("Claim", execute(2));
    let deed = fake.deed();
    let failing = |_| ready(Err::<Receipt, _>(std::io::Error::other("connection reset")));
    let _settled = charge(&deed, "a").perform_without_verify(failing).await.unwrap();
    let panicking = |_| -> std::future::Ready<Receipt> { panic!("index out of bounds") };
    let _settled = charge(&deed, "b")
        .perform_without_verify(panicking)
        .await
        .unwrap();
    let reports = fake.reports(2).await;
    assert_eq!(
        unknown(&reports[0]),
        ("the executor failed: connection reset", false)
    );
    assert_eq!(
        unknown(&reports[1]),
        ("the executor panicked: index out of bounds", false)
    );
}

#[tokio::test]
async fn a_lookup_that_panics_is_inconclusive() {
    let fake = Fake::start().await;
    fake.step("Claim", crate::steps::verify(1));
    let deed = fake.deed();
    let panicking = |_| -> std::future::Ready<deed_client::Observation> { panic!("no index") };
    let _settled = charge(&deed, "a").reconcile(panicking).await.unwrap();
    let Call::Verify(verify) = fake.seen("Verify", 1).await.remove(0).1 else {
        unreachable!()
    };
    let verdict = verify.observation.unwrap().verdict.unwrap();
    assert!(
        matches!(verdict, v1::observation::Verdict::Unknown(unknown) if unknown.reason.contains("no index"))
    );
}

#[tokio::test]
async fn a_future_dropped_in_the_middle_of_the_send_is_reported_unknown() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1));
    let deed = fake.deed();
    let (started, start) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let running = tokio::spawn(charge(&deed, "a").perform_without_verify(move |_| {
        started.take().unwrap().send(()).unwrap();
        pending::<Receipt>()
    }));
    start.await.unwrap();
    running.abort();
    let reports = fake.reports(1).await;
    let (reason, ended) = unknown(&reports[0]);
    assert!(reason.contains("dropped") && !ended, "{reason}");
    assert_eq!(
        (reports[0].fencing_token, reports[0].then()),
        (1, v1::Then::Nothing)
    );
}

#[tokio::test]
async fn a_future_dropped_during_the_claim_gives_the_grant_back_unsent() {
    let fake = Fake::start().await;
    let (open, gate) = tokio::sync::watch::channel(false);
    fake.on("Claim", Reply::When(gate, execute(1)));
    let deed = fake.deed();
    let running = tokio::spawn(charge(&deed, "a").perform_without_verify(|_| pending::<Receipt>()));
    fake.seen("Claim", 1).await;
    running.abort();
    open.send(true).unwrap();
    assert_eq!(
        not_sent(&fake.reports(1).await[0]),
        NotSentReason::CancelledBeforeSend
    );
    assert_eq!(fake.order(), ["Claim", "Report"]);
}

#[tokio::test]
async fn a_long_send_outlives_its_first_lease_by_renewals() {
    let fake = Fake::start().await;
    let lease = Duration::from_millis(600);
    fake.step("Claim", lasting(1, lease));
    for _ in 0..20 {
        fake.on("Renew", Reply::Renewal(crate::steps::renewed(lease)));
    }
    let deed = fake.deed();
    let outcome = charge(&deed, "a").perform_without_verify(|grant| async move {
        tokio::time::sleep(lease * 2).await;
        assert!(grant.time_left() > Duration::ZERO && grant.time_left() < seconds(1));
        Receipt::completed("X")
    });
    assert!(outcome.await.unwrap().confirmed());
    let kind = fake.reports(1).await.remove(0).receipt.unwrap().kind;
    assert!(matches!(kind, Some(Kind::Completed(_))), "{kind:?}");
}
