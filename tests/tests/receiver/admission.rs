//! Faults before any effect, and what the client makes of them.

use deed_tests::receiver::{
    Admission, Applied, Call, Dials, Doubt, Fault, LookupFault, Odds, Queued, Receiver, Seen,
};
use std::time::Duration;

use crate::{ORDER, PATIENCE, charge, done, look, receiver, seen, turned_away};

#[tokio::test]
async fn a_refused_request_leaves_no_effect() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::admission(Admission::Refused)]);
    assert_eq!(
        turned_away(&client.apply(&charge()).await),
        Some((422, "refused"))
    );
    assert!(receiver.ledger().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_rate_limit_and_maintenance_say_when_to_come_back_and_do_nothing() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    let faults = [
        Admission::RateLimited { retry_after_ms: 1500 },
        Admission::Maintenance { retry_after_ms: 2500 },
    ];
    receiver.fault(ORDER, faults.map(Fault::admission));
    for (expected_status, expected_ms) in [(429, 1500), (503, 2500)] {
        match client.apply(&charge()).await {
            Call::Answered(Applied::NotNow {
                status, retry_after, ..
            }) => {
                assert_eq!(
                    (status, retry_after),
                    (expected_status, Duration::from_millis(expected_ms))
                );
            }
            other => anyhow::bail!("not put off: {other:?}"),
        }
    }
    assert!(receiver.ledger().is_empty());
    Ok(())
}

#[tokio::test]
async fn the_retry_after_header_counts_whole_seconds_and_never_too_few() -> anyhow::Result<()> {
    let (receiver, _) = receiver(Dials::default()).await?;
    receiver.fault(
        ORDER,
        [Fault::admission(Admission::RateLimited { retry_after_ms: 1001 })],
    );
    let http = reqwest::Client::builder().no_proxy().build()?;
    let answer = http
        .post(format!("http://{}/effects", receiver.address))
        .json(&charge())
        .send()
        .await?;
    assert_eq!(
        answer.headers().get("retry-after").map(|value| value.as_bytes()),
        Some(b"2".as_slice())
    );
    Ok(())
}

#[tokio::test]
async fn a_connection_dropped_before_the_effect_is_unknown_and_leaves_none() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::admission(Admission::Dropped)]);
    let call = client.apply(&charge()).await;
    assert!(
        matches!(
            call,
            Call::Unknown {
                reason: Doubt::ConnectionLost,
                ..
            }
        ),
        "{call:?}"
    );
    assert_eq!(receiver.summary().requests, 1);
    assert!(receiver.ledger().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_receiver_that_is_not_there_means_nothing_was_sent() -> anyhow::Result<()> {
    let client = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        deed_tests::receiver::ReceiverClient::new(listener.local_addr()?, PATIENCE)?
    };
    let call = client.apply(&charge()).await;
    assert!(matches!(call, Call::NotSent { .. }), "{call:?}");
    Ok(())
}

#[tokio::test]
async fn queued_faults_meet_one_request_each_and_no_other_business_id() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault("order-2", [Fault::admission(Admission::Refused)]);
    done(client.apply(&charge()).await)?;
    let mut other = charge();
    other.business_id = "order-2".to_owned();
    assert!(turned_away(&client.apply(&other).await).is_some());
    done(client.apply(&other).await)?;
    Ok(())
}

#[tokio::test]
async fn lookups_can_be_dropped_and_refused_for_maintenance_without_touching_the_effect() -> anyhow::Result<()>
{
    let (receiver, client) = receiver(Dials::default()).await?;
    done(client.apply(&charge()).await)?;
    let lookups = vec![
        LookupFault::Dropped,
        LookupFault::Maintenance { retry_after_ms: 10 },
    ];
    receiver.queue(
        ORDER,
        Queued {
            lookups,
            ..Queued::default()
        },
    );
    let dropped = client.look_up(&look()).await;
    assert!(
        matches!(
            dropped,
            Call::Unknown {
                reason: Doubt::ConnectionLost,
                ..
            }
        ),
        "{dropped:?}"
    );
    let closed = client.look_up(&look()).await;
    assert!(
        matches!(closed, Call::Answered(Seen::Refused { status: 503, .. })),
        "{closed:?}"
    );
    assert_eq!(seen(&client).await?.effects.len(), 1);
    assert_eq!(receiver.summary().lookups, 3);
    Ok(())
}

#[tokio::test]
async fn the_same_seed_gives_every_id_the_same_faults_in_whatever_order_the_ids_come() -> anyhow::Result<()> {
    let odds = Odds {
        refuse: 0.3,
        drop_answer: 0.3,
        ..Odds::default()
    };
    let mut runs = Vec::new();
    for backwards in [false, true] {
        let (receiver, client) = receiver(Dials {
            seed: 42,
            odds,
            ..Dials::default()
        })
        .await?;
        let mut ids: Vec<u32> = (0..40).collect();
        if backwards {
            ids.reverse();
        }
        for id in ids {
            let mut request = charge();
            request.business_id = format!("order-{id}");
            client.apply(&request).await;
        }
        let mut applied: Vec<String> = receiver
            .ledger()
            .into_iter()
            .map(|effect| effect.business_id)
            .collect();
        applied.sort();
        runs.push(applied);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(
        (10..40).contains(&runs[0].len()),
        "{} of 40 applied at odds of 0.7",
        runs[0].len()
    );
    Ok(())
}

#[tokio::test]
async fn malformed_requests_and_unknown_dials_are_refused_with_the_field_named() -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let base = format!("http://{}", receiver.address);
    let number = serde_json::json!({"business_id": "a", "kind": "b", "fencing_token": 7});
    let typo = serde_json::json!({"fencin": "ignored"});
    for (request, named) in [
        (
            http.post(format!("{base}/effects")).json(&number),
            "fencing_token",
        ),
        (http.put(format!("{base}/dials")).json(&typo), "fencin"),
    ] {
        let answer = request.send().await?;
        assert_eq!(answer.status(), 400);
        let body = answer.text().await?;
        assert!(body.contains("malformed") && body.contains(named), "{body}");
    }
    Ok(())
}
