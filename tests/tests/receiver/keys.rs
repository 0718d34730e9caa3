//! Idempotency keys, honoured and ignored.

use deed_tests::receiver::{
    Admission, AnswerFault, Applied, Call, Dials, Fault, Idempotency, Mode, StoredRefusals,
};
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, done, receiver, turned_away};

fn honoured(retention_ms: u64, refusals: StoredRefusals) -> Dials {
    Dials {
        idempotency: Idempotency::Honoured {
            retention_ms,
            refusals,
        },
        ..Dials::default()
    }
}

fn forgetful() -> Dials {
    honoured(FOREVER_MS, StoredRefusals::Forgotten)
}

#[tokio::test]
async fn an_ignored_key_doubles() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    for _ in 0..2 {
        done(client.apply(&charge().with_key("k1")).await)?;
    }
    assert_eq!(receiver.summary().duplicates, 1);
    Ok(())
}

#[tokio::test]
async fn an_honoured_key_replays_the_first_answer_even_if_that_was_lost() -> anyhow::Result<()> {
    let (receiver, client) = receiver(forgetful()).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::Dropped)]);
    client.apply(&charge().with_key("k1")).await;
    let call = client.apply(&charge().with_key("k1")).await;
    assert!(
        matches!(call, Call::Answered(Applied::Done { replayed: true, .. })),
        "{call:?}"
    );
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_key_is_forgotten_after_its_retention() -> anyhow::Result<()> {
    let (receiver, client) = receiver(honoured(0, StoredRefusals::Forgotten)).await?;
    for _ in 0..2 {
        done(client.apply(&charge().with_key("k1")).await)?;
    }
    assert_eq!(receiver.summary().duplicates, 1);
    Ok(())
}

#[tokio::test]
async fn a_key_in_progress_is_told_apart_from_a_refusal_and_its_first_request_lands_once()
-> anyhow::Result<()> {
    let (receiver, client) = receiver(forgetful()).await?;
    receiver.fault(ORDER, [Fault::apply_after(FOREVER_MS)]);
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.apply(&charge().with_key("k1")).await }
    });
    timeout(PATIENCE, receiver.until_requested(ORDER, 1)).await?;
    // The arrival is recorded a moment before the key is taken; until then the second request would be the first.
    timeout(PATIENCE, receiver.until_key_in_progress("k1")).await?;
    assert_eq!(
        client.apply(&charge().with_key("k1")).await,
        Call::Answered(Applied::KeyInProgress)
    );
    receiver.release(ORDER);
    let external_id = done(timeout(PATIENCE, first).await??)?;
    assert_eq!(done(client.apply(&charge().with_key("k1")).await)?, external_id);
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_key_used_for_another_effect_is_refused() -> anyhow::Result<()> {
    let (receiver, client) = receiver(forgetful()).await?;
    done(client.apply(&charge().with_key("k1")).await)?;
    let mut other = charge().with_key("k1");
    other.amount = Some(1);
    assert_eq!(
        turned_away(&client.apply(&other).await),
        Some((422, "key_reused"))
    );
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_replayed_only_where_the_dial_says_so() -> anyhow::Result<()> {
    for (refusals, applied) in [(StoredRefusals::Forgotten, 1), (StoredRefusals::Replayed, 0)] {
        let (receiver, client) = receiver(honoured(FOREVER_MS, refusals)).await?;
        receiver.fault(ORDER, [Fault::admission(Admission::Refused)]);
        client.apply(&charge().with_key("k1")).await;
        client.apply(&charge().with_key("k1")).await;
        assert_eq!(receiver.effects(ORDER).len(), applied, "{refusals:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_jobs_acceptance_is_replayed_and_the_job_runs_once() -> anyhow::Result<()> {
    let dials = Dials {
        mode: Mode::Asynchronous {
            queued_ms: 0,
            run_ms: 0,
        },
        ..forgetful()
    };
    let (receiver, client) = receiver(dials).await?;
    client.apply(&charge().with_key("k1")).await;
    timeout(PATIENCE, receiver.until_applied(ORDER, 1)).await?;
    let call = client.apply(&charge().with_key("k1")).await;
    assert!(
        matches!(call, Call::Answered(Applied::Accepted { replayed: true, .. })),
        "{call:?}"
    );
    assert_eq!(receiver.summary().jobs_under_way, 0);
    Ok(())
}
