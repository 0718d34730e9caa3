//! One background task renews all leases of the process in one call, for as long as there are any.

use std::time::Duration;

use deed_client::{Deed, Receipt};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fake::{Call, Fake, Reply};
use crate::steps::{charge, lasting, renewed};

const LEASE: Duration = Duration::from_millis(600);

/// Sends until the gate opens.
pub fn holding(deed: &Deed, id: &str, gate: &watch::Receiver<bool>) -> JoinHandle<bool> {
    let (action, gate) = (charge(deed, id), gate.clone());
    tokio::spawn(async move {
        let outcome = action.perform_without_verify(|_| {
            let mut gate = gate.clone();
            async move {
                gate.wait_for(|open| *open).await.unwrap();
                Receipt::completed("X")
            }
        });
        outcome.await.unwrap().confirmed()
    })
}

fn leases(call: &Call) -> usize {
    match call {
        Call::Renew(request) => request.leases.len(),
        other => panic!("{other:?} is no renewal"),
    }
}

#[tokio::test]
async fn two_actions_are_renewed_in_one_call_at_a_third_of_the_lease() {
    let fake = Fake::start().await;
    fake.step("Claim", lasting(1, LEASE))
        .step("Claim", lasting(2, LEASE));
    for _ in 0..20 {
        fake.on("Renew", Reply::Renewal(renewed(LEASE)));
    }
    let deed = fake.deed();
    let (open, gate) = watch::channel(false);
    let first = holding(&deed, "a", &gate);
    fake.seen("Claim", 1).await;
    // Claimed at different times, and renewed together all the same.
    tokio::time::sleep(LEASE / 10).await;
    let running = [first, holding(&deed, "b", &gate)];
    let renewals = fake.seen("Renew", 3).await;
    assert!(renewals.iter().all(|(_, call)| leases(call) == 2), "{renewals:?}");
    let apart = renewals[2].0 - renewals[1].0;
    assert!(apart >= LEASE / 4 && apart < LEASE / 2, "{apart:?}");

    open.send(true).unwrap();
    for task in running {
        assert!(task.await.unwrap());
    }
    // Nothing is held any more, so nothing is renewed.
    let renewals = fake.calls("Renew").len();
    tokio::time::sleep(LEASE).await;
    assert_eq!(fake.calls("Renew").len(), renewals);
}

#[tokio::test]
async fn b48_a_renewal_that_gets_no_answer_is_given_up_after_a_third_and_repeated_in_time() {
    let fake = Fake::start().await;
    fake.step("Claim", lasting(1, LEASE))
        .on("Renew", Reply::Silence)
        .on("Renew", Reply::Renewal(renewed(Duration::from_secs(30))));
    let deed = fake.deed();
    let (open, gate) = watch::channel(false);
    let running = holding(&deed, "a", &gate);
    let renewals = fake.seen("Renew", 2).await;
    assert!(renewals[1].0 - renewals[0].0 < LEASE / 2);
    // Beyond the end of the first lease.
    tokio::time::sleep(LEASE).await;
    open.send(true).unwrap();
    assert!(running.await.unwrap());
    let receipt = fake.reports(1).await.remove(0).receipt.unwrap().kind;
    assert!(
        matches!(receipt, Some(deed_client::v1::receipt::Kind::Completed(_))),
        "{receipt:?}"
    );
}

#[tokio::test]
async fn an_overtaken_grant_is_cut_off_and_does_not_cost_the_newer_one_its_renewals() {
    let fake = Fake::start().await;
    fake.step("Claim", lasting(1, LEASE))
        .step("Claim", lasting(2, LEASE));
    for _ in 0..20 {
        fake.on("Renew", Reply::Renewal(renewed(LEASE)));
    }
    let deed = fake.deed();
    let (open, gate) = watch::channel(false);
    let running = [holding(&deed, "a", &gate), holding(&deed, "a", &gate)];
    let report = fake.reports(1).await.remove(0);
    assert_eq!(report.fencing_token, 1);
    assert!(matches!(
        report.receipt.unwrap().kind,
        Some(deed_client::v1::receipt::Kind::Unknown(_))
    ));
    let renewals = fake.seen("Renew", 3).await;
    assert!(renewals.iter().all(|(_, call)| leases(call) == 1), "{renewals:?}");
    open.send(true).unwrap();
    for task in running {
        assert!(task.await.unwrap());
    }
}
