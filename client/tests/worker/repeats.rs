//! Lost answers: calls are repeated under the same request id, and no receipt is dropped.

use std::cell::Cell;
use std::future::ready;
use std::time::Duration;

use deed_client::{CallError, Error, Observation, Receipt, v1};
use tonic::{Code, Status};

use crate::fake::{Fake, Reply};
use crate::steps::{blocked, charge, execute, mail, refusal, settled, unbegun, verify};

fn done(_: deed_client::Grant) -> std::future::Ready<Receipt> {
    ready(Receipt::completed("X"))
}

#[tokio::test]
async fn b19_a_claim_whose_answer_is_lost_is_repeated_under_the_same_request_id() {
    let fake = Fake::start().await;
    fake.on("Claim", Reply::Silence)
        .on(
            "Claim",
            Reply::Error(refusal(Code::Unavailable, "STORE_UNAVAILABLE")),
        )
        .on("Claim", Reply::Error(Status::unknown("connection reset")))
        .step("Claim", execute(1));
    let deed = fake.connect(fake.client().call_timeout(Duration::from_millis(200)));
    let outcome = charge(&deed, "a").perform_without_verify(done).await.unwrap();
    assert!(outcome.confirmed());
    let claims = fake.claims(4).await;
    assert!(claims.iter().all(|claim| claim == &claims[0]), "{claims:?}");
}

#[tokio::test]
async fn b19_a_report_whose_answer_is_lost_is_repeated_and_the_executor_runs_once() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1))
        .on("Report", Reply::Silence)
        .step("Report", settled("X"));
    let deed = fake.connect(fake.client().call_timeout(Duration::from_millis(200)));
    let runs = Cell::new(0);
    let outcome = charge(&deed, "a")
        .perform_without_verify(|_| {
            runs.set(runs.get() + 1);
            ready(Receipt::completed("X"))
        })
        .await
        .unwrap();
    assert!(outcome.confirmed());
    let reports = fake.reports(2).await;
    assert_eq!((reports.len(), runs.get()), (2, 1));
    assert_eq!(reports[0], reports[1]);
}

#[tokio::test]
async fn a_judgement_is_handed_on_and_not_repeated() {
    let fake = Fake::start().await;
    fake.on(
        "Claim",
        Reply::Error(refusal(Code::AlreadyExists, "INPUT_MISMATCH")),
    );
    let deed = fake.deed();
    let error = charge(&deed, "a").perform_without_verify(done).await.unwrap_err();
    assert_eq!(error.reason(), Some("INPUT_MISMATCH"));
    assert_eq!(fake.order(), ["Claim"]);
}

#[tokio::test]
async fn a_receipt_that_cannot_be_handed_in_is_handed_back_ready_to_be_reported() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(5));
    for _ in 0..50 {
        fake.on("Report", Reply::Error(Status::unavailable("away")));
    }
    let deed = fake.connect(fake.client().report_deadline(Duration::from_millis(300)));
    let error = charge(&deed, "a").perform_without_verify(done).await.unwrap_err();
    let Error::ReportUndelivered {
        receipt,
        request,
        source,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((receipt, request.fencing_token), (Receipt::completed("X"), 5));
    assert_eq!(
        (request.owner.as_str(), request.then()),
        ("worker-1", v1::Then::Nothing)
    );
    assert!(matches!(source, CallError::Unanswered { tries: 2.., .. }));

    fake.recover("Report");
    assert!(deed.calls().report(request.into_inner()).await.is_ok());
}

#[tokio::test]
async fn a_receipt_that_is_refused_is_handed_back_as_well() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(5)).on(
        "Report",
        Reply::Error(refusal(Code::PermissionDenied, "NOT_YOUR_GRANT")),
    );
    let deed = fake.deed();
    let error = charge(&deed, "a").perform_without_verify(done).await.unwrap_err();
    assert_eq!(error.reason(), Some("NOT_YOUR_GRANT"));
    assert!(matches!(error, Error::ReportUndelivered { .. }));
}

#[tokio::test]
async fn b41_a_report_of_an_action_that_a_failover_lost_brings_its_specification() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(5)).on(
        "Report",
        Reply::Error(refusal(Code::NotFound, "ACTION_NOT_FOUND")),
    );
    let deed = fake.deed();
    assert!(
        charge(&deed, "a")
            .perform_without_verify(done)
            .await
            .unwrap()
            .confirmed()
    );
    let (claims, reports) = (fake.claims(1).await, fake.reports(2).await);
    assert!(reports[0].specification.is_none());
    assert_eq!(reports[1].specification, claims[0].specification);
    assert_ne!(reports[0].request_id, reports[1].request_id);
}

#[tokio::test]
async fn an_observation_that_is_refused_is_handed_back_and_its_grant_given_back() {
    let fake = Fake::start().await;
    fake.step("Claim", verify(3)).on(
        "Verify",
        Reply::Error(refusal(Code::InvalidArgument, "INVALID_FIELD")),
    );
    let deed = fake.deed();
    let error = charge(&deed, "a")
        .reconcile(|_| ready(Observation::not_found()))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::ObservationUndelivered { .. }));
    fake.seen("Release", 1).await;
}

#[tokio::test]
async fn a_service_that_is_away_is_named_after_the_patience() {
    let fake = Fake::start().await;
    for _ in 0..50 {
        fake.on("Claim", Reply::Error(Status::unavailable("away")));
    }
    let short = Duration::from_millis(300);
    let deed = fake.connect(fake.client().call_timeout(short));
    let action = charge(&deed, "a").patience(short);
    let error = action.perform_without_verify(done).await.unwrap_err();
    assert!(matches!(
        error,
        Error::Call(CallError::Unanswered {
            call: "Claim",
            tries: 2..,
            ..
        })
    ));
}

#[tokio::test]
async fn a_gate_that_may_have_opened_in_a_lost_answer_is_reported_as_not_sent() {
    let fake = Fake::start().await;
    fake.step("Claim", unbegun(1))
        .on("Begin", Reply::Silence)
        .step("Begin", blocked());
    let deed = fake.connect(fake.client().call_timeout(Duration::from_millis(200)));
    let outcome = mail(&deed, "a").perform_without_verify(done).await.unwrap();
    assert!(
        outcome.confirmed(),
        "the answer to the report counts: {outcome:?}"
    );
    let receipt = fake.reports(1).await.remove(0).receipt.unwrap().kind.unwrap();
    assert!(matches!(receipt, v1::receipt::Kind::NotSent(_)), "{receipt:?}");
}
