//! The asynchronous mode: accepted first, done or failed later.

use std::time::Duration;

use deed_tests::receiver::{
    Applied, Call, Dials, EffectRequest, Fault, JobStatus, LookupAnswer, Mode, Receiver, ReceiverClient,
};
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, receiver, seen};

fn asynchronous(queued_ms: u64, run_ms: u64) -> Dials {
    Dials {
        mode: Mode::Asynchronous { queued_ms, run_ms },
        ..Dials::default()
    }
}

async fn accepted(client: &ReceiverClient, request: &EffectRequest) -> anyhow::Result<String> {
    match client.apply(request).await {
        Call::Answered(Applied::Accepted { external_id, .. }) => Ok(external_id),
        other => anyhow::bail!("not accepted: {other:?}"),
    }
}

fn status(found: &LookupAnswer) -> Option<JobStatus> {
    found.jobs.first().map(|job| job.status)
}

async fn until_job(receiver: &Receiver, status: JobStatus) -> anyhow::Result<()> {
    let moved = receiver.until(|ledger| ledger.jobs.iter().any(|job| job.status == status));
    Ok(timeout(PATIENCE, moved).await?)
}

#[tokio::test]
async fn an_accepted_job_is_no_effect_until_it_is_done_and_then_bears_the_jobs_id() -> anyhow::Result<()> {
    let (receiver, client) = receiver(asynchronous(0, FOREVER_MS)).await?;
    let job = accepted(&client, &charge()).await?;
    until_job(&receiver, JobStatus::Pending).await?;
    let found = seen(&client).await?;
    assert_eq!(
        (status(&found), found.effects.len()),
        (Some(JobStatus::Pending), 0)
    );
    receiver.release(ORDER);
    until_job(&receiver, JobStatus::Done).await?;
    let found = seen(&client).await?;
    assert_eq!(status(&found), Some(JobStatus::Done));
    assert_eq!(found.effects[0].external_id, job);
    Ok(())
}

#[tokio::test]
async fn a_job_in_the_queue_is_not_seen_by_a_lookup() -> anyhow::Result<()> {
    let (receiver, client) = receiver(asynchronous(FOREVER_MS, 0)).await?;
    accepted(&client, &charge()).await?;
    let found = seen(&client).await?;
    assert!(found.jobs.is_empty() && found.effects.is_empty(), "{found:?}");
    assert_eq!(receiver.summary().jobs_under_way, 1);
    Ok(())
}

#[tokio::test]
async fn a_failing_job_fails_after_its_time_and_leaves_no_effect() -> anyhow::Result<()> {
    let (receiver, client) = receiver(asynchronous(1, 1)).await?;
    receiver.fault(ORDER, [Fault::failing_job()]);
    let first = accepted(&client, &charge()).await?;
    until_job(&receiver, JobStatus::Failed).await?;
    assert_eq!(status(&seen(&client).await?), Some(JobStatus::Failed));
    assert!(receiver.ledger().is_empty());
    assert_eq!(receiver.summary().jobs_failed, 1);
    let second = accepted(&client, &charge()).await?;
    assert_ne!(first, second);
    timeout(PATIENCE, receiver.until_applied(ORDER, 1)).await?;
    Ok(())
}

#[tokio::test]
async fn a_done_job_whose_effect_is_hidden_looks_as_if_it_were_under_way() -> anyhow::Result<()> {
    let (receiver, client) = receiver(asynchronous(0, 0)).await?;
    receiver.fault(ORDER, [Fault::hide_for(FOREVER_MS)]);
    accepted(&client, &charge()).await?;
    timeout(PATIENCE, receiver.until_applied(ORDER, 1)).await?;
    assert_eq!(status(&seen(&client).await?), Some(JobStatus::Pending));
    Ok(())
}

#[tokio::test]
async fn an_acceptance_says_when_to_ask() -> anyhow::Result<()> {
    let (_receiver, client) = receiver(asynchronous(1000, 2500)).await?;
    let call = client.apply(&charge()).await;
    let Call::Answered(Applied::Accepted { retry_after, .. }) = call else {
        anyhow::bail!("not accepted: {call:?}")
    };
    assert_eq!(retry_after, Duration::from_millis(3500));
    Ok(())
}
