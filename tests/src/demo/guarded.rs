//! The worker with Deed: every offer goes through `perform`, and what Deed leaves open is offered again.
//!
//! Owns the contract that fits the demo's receiver, and the honest translation of the receiver's answers into receipts
//! and observations. It keeps no list of what is done: Deed does.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use deed_client::{Contract, Deed, Observation, Outcome, Pending, Retry};

use super::invoice::{Invoice, TOOL};
use super::plan::SEND_TIMEOUT;
use super::said::{End, Finished};
use crate::receiver::{Call, ReceiverClient, Seen};
use crate::support::adapter;

/// The namespace of the demo's actions.
pub const NAMESPACE: &str = "demo";

/// How long an effect may stay invisible after its send is over. The receiver is late by 150 ms and hides for another 150
/// ms at most; a busy machine gets the rest.
pub const SETTLE_WINDOW: Duration = Duration::from_millis(500);

/// Short, so that what a killed worker held is soon free for investigation; three renewals fit into it, each of them late
/// by a busy machine.
const LEASE: Duration = Duration::from_millis(1_500);

/// Beyond the receiver client's own timeout, so that a timeout is an honest receipt and not a cut-off.
const SEND_MARGIN: Duration = Duration::from_millis(100);

/// Enough for the receiver's rate limit. What takes longer is left, and other invoices are taken up meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// A holder is mostly done long before its lease ends, so a held action is asked for again after this at the latest.
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// One try of a call to Deed. A server that was killed is back within a few of them.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// At the demo's odds an attempt fails one time in five; so many in a row do not happen.
const ATTEMPTS: u32 = 12;

/// What the demo's receiver can and cannot do: it deduplicates nothing, and shows what it has.
fn contract() -> Contract {
    let retry = Retry::default().max_attempts(ATTEMPTS).backoff(
        Duration::from_millis(50),
        1.5,
        Duration::from_millis(500),
    );
    Contract::serialized(SETTLE_WINDOW)
        .send_timeout(SEND_TIMEOUT + SEND_MARGIN)
        .lease(LEASE)
        .retry(retry)
}

/// An offer that is not finished.
struct Open<'a> {
    invoice: &'a Invoice,
    since: Option<Instant>,
    due: Instant,
}

/// Works off the offers until Deed calls each of them settled or blocked.
pub async fn work(offers: &[Invoice], receiver: SocketAddr, server: &str, name: &str) -> anyhow::Result<()> {
    let receiver = ReceiverClient::new(receiver, SEND_TIMEOUT)?;
    // The owner's name is the client's own: it tells a restarted worker from the one that was killed.
    let deed = Deed::builder()
        .namespace(NAMESPACE)
        .patience(PATIENCE)
        .call_timeout(CALL_TIMEOUT)
        .connect(server)?;
    let now = Instant::now();
    let mut open: Vec<Open<'_>> = offers
        .iter()
        .map(|invoice| Open {
            invoice,
            since: None,
            due: now,
        })
        .collect();
    while let Some(earliest) = open.iter().map(|offer| offer.due).min() {
        tokio::time::sleep_until(earliest.into()).await;
        let now = Instant::now();
        let Some(next) = open.iter().position(|offer| offer.due <= now) else {
            continue;
        };
        let offer = &mut open[next];
        let since = *offer.since.get_or_insert(now);
        match create(&deed, &receiver, offer.invoice, name).await? {
            Step::Finished(end) => {
                Finished::say(&offer.invoice.invoice_id, end, since.elapsed())?;
                open.remove(next);
            }
            Step::Later(pause) => offer.due = Instant::now() + pause,
        }
    }
    deed.shutdown().await;
    Ok(())
}

enum Step {
    Finished(End),
    Later(Duration),
}

async fn create(
    deed: &Deed,
    receiver: &ReceiverClient,
    invoice: &Invoice,
    name: &str,
) -> anyhow::Result<Step> {
    let acted = Cell::new(false);
    let outcome = deed
        .action(&invoice.action_id())
        .tool(TOOL)
        .input(invoice)?
        .identity(&Invoice::IDENTITY)
        .contract(contract())
        .expected_effect("the receiver has one invoice with this id", &[])
        .label("worker", name)
        .perform(
            |_grant| {
                acted.set(true);
                async move { adapter::send(receiver, &invoice.effect()).await }
            },
            |_lookup| {
                acted.set(true);
                look_up(receiver, invoice)
            },
        )
        .await;
    let end = match outcome {
        Ok(Outcome::Settled(_)) if acted.get() => End::Acted,
        Ok(Outcome::Settled(_)) => End::FoundDone,
        Ok(Outcome::Blocked(_)) => End::Blocked,
        Ok(Outcome::Pending(Pending::Wait { retry_after, .. })) => return Ok(Step::Later(retry_after)),
        Ok(Outcome::Pending(Pending::Held { retry_after, .. })) => {
            return Ok(Step::Later(retry_after.min(ASK_AGAIN)));
        }
        Ok(Outcome::Pending(Pending::Claimable(_))) => return Ok(Step::Later(Duration::ZERO)),
        Err(error) if adapter::unanswered(&error) => {
            eprintln!("{}: {error}; offered again", invoice.invoice_id);
            return Ok(Step::Later(ASK_AGAIN));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Step::Finished(end))
}

/// One look, and what it shows.
async fn look_up(receiver: &ReceiverClient, invoice: &Invoice) -> Observation {
    match receiver.look_up(&invoice.lookup()).await {
        Call::Answered(Seen::Found(seen)) => match seen.effects.first() {
            Some(effect) => Observation::confirmed(&effect.external_id),
            None => Observation::not_found(),
        },
        Call::Answered(Seen::Refused { error, .. }) => Observation::unknown(error.message),
        Call::NotSent { reason } => Observation::unknown(reason),
        Call::Unknown { detail, .. } => Observation::unknown(detail),
    }
}
