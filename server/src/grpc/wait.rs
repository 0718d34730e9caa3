//! Long polls: looks again as soon as this server has changed the action, and now and then for what other servers change
//! and time decides, so that a caller need not. Holds nothing between two looks.

use std::time::{Duration, Instant};

use deed_core::reply::Refusal;
use deed_proto::v1;

use super::clock::Life;
use super::edge::Edge;
use super::error::Failure;
use super::parse::query::{Until, WaitQuery};
use super::tell::action;
use crate::service::ledger::Ledger;
use crate::service::{Judge, Watch};

/// The first pause between two looks: most actions settle within a second of somebody's waiting for them.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause: a waiter learns of another server's change within a second, and a thousand waiters are a thousand
/// reads a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// Looks until what was waited for has come about, the time is over, or the server stops.
    pub(super) async fn wait(&self, query: WaitQuery, life: Life) -> Result<v1::WaitActionResponse, Failure> {
        let end = (Instant::now() + query.timeout).min(life.shortened().deadline);
        let mut pause = FIRST_PAUSE;
        // SUBTLE: before the first look, or a change between the look and the wait would be found only by the next one.
        let mut watch = self.judge.watch(&query.key);
        loop {
            let Some((stored, now)) = self.ledger.action(&query.key).await? else {
                return Err(Refusal::ActionNotFound.into());
            };
            let seen = action::action(&self.protocol, &stored, now, action::Extent::Whole);
            let done = match query.until {
                Until::Settled => settled(&seen),
                Until::Changed(known) => stored.version != known,
            };
            let left = end.saturating_duration_since(Instant::now());
            if done || left.is_zero() || self.stop.is_cancelled() {
                return Ok(v1::WaitActionResponse {
                    action: Some(seen),
                    timed_out: !done,
                });
            }
            tokio::select! {
                () = watch.changed() => {}
                () = tokio::time::sleep(pause.min(left)) => pause = (pause * 2).min(LONGEST_PAUSE),
                () = self.stop.cancelled() => {}
            }
        }
    }
}

fn settled(seen: &v1::Action) -> bool {
    let kind = seen.next_step.as_ref().and_then(|step| step.kind.as_ref());
    matches!(kind, Some(v1::next_step::Kind::Settled(_)))
}
