//! What the receiver's dials do, over HTTP. Each file takes one kind of dial.

mod admission;
mod answers;
mod effects;
mod jobs;
mod keys;
mod process;
mod tokens;

use std::time::Duration;

use deed_tests::receiver::{
    Applied, Call, Dials, EffectRequest, LookupAnswer, LookupRequest, Receiver, ReceiverClient, Seen,
};

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Delays that a test ends itself, by a release or by giving up.
const FOREVER_MS: u64 = 3_600_000;

const ORDER: &str = "order-1";

async fn receiver(dials: Dials) -> anyhow::Result<(Receiver, ReceiverClient)> {
    let receiver = Receiver::start().await?;
    receiver.dial(dials);
    let client = receiver.client(PATIENCE)?;
    Ok((receiver, client))
}

fn charge() -> EffectRequest {
    EffectRequest::new(ORDER, "charge", &["row_exists", "mail_sent"])
}

fn look() -> LookupRequest {
    LookupRequest {
        business_id: ORDER.to_owned(),
        ..LookupRequest::default()
    }
}

async fn seen(client: &ReceiverClient) -> anyhow::Result<LookupAnswer> {
    match client.look_up(&look()).await {
        Call::Answered(Seen::Found(found)) => Ok(found),
        other => anyhow::bail!("the lookup found nothing out: {other:?}"),
    }
}

/// The external id of an effect that was applied, in whole or in part.
fn done(call: Call<Applied>) -> anyhow::Result<String> {
    match call {
        Call::Answered(Applied::Done { external_id, .. }) => Ok(external_id),
        other => anyhow::bail!("not applied: {other:?}"),
    }
}

/// Status and code of an answer that refuses, puts off or fails.
fn turned_away(call: &Call<Applied>) -> Option<(u16, &str)> {
    match call {
        Call::Answered(
            Applied::NotNow { status, error, .. }
            | Applied::Refused { status, error }
            | Applied::Failed { status, error },
        ) => Some((*status, &error.code)),
        _ => None,
    }
}
