//! One worker process: takes up what is due of every fleet, and logs what it does.
//!
//! Owns when an action is taken up again. Which calls are made is the client's part; the blind fleet does without.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deed_client::{Deed, Grant, Lookup, Outcome, Pending};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::fleet::{ANSWER_TIMEOUT, Conduct, Fleet, NAMESPACE};
use super::log::{End, Line, Log, now_ms, read};
use super::plan::PERIOD;
use crate::receiver::ReceiverClient;
use crate::support::adapter;
use crate::support::blind::{DoneFile, insist};

/// What is held or has to wait is left, and others are taken up meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// A holder is mostly done long before its lease ends, so a held action is asked for again after this at the latest.
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// One try of a call to Deed: long enough for a busy machine, short enough to leave a paused server behind.
const CALL_TIMEOUT: Duration = Duration::from_millis(1_000);

/// A failover passes within this, even with a pause on top.
const REPORT_DEADLINE: Duration = Duration::from_secs(30);

/// What an executor does before its first byte leaves: long enough for a pause to fall into it now and then.
const PREPARATION: Duration = Duration::from_millis(80);

/// Between two looks at what is due.
const LOOK: Duration = Duration::from_millis(20);

/// The file that ends the work: the number of actions of each fleet, in the directory of the run.
pub const OVER: &str = "over";

/// What a worker is told at its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    pub seed: u64,
    /// From 0.
    pub number: usize,
    /// When action 0 is due, in milliseconds since 1970.
    pub start_ms: i64,
    pub server: String,
    pub receivers: BTreeMap<Conduct, SocketAddr>,
    /// Where logs and [`OVER`] are.
    pub directory: PathBuf,
}

impl Orders {
    pub fn log(&self) -> PathBuf {
        self.directory.join(format!("worker-{}.jsonl", self.number + 1))
    }
}

struct Worker<'a> {
    orders: &'a Orders,
    deed: Deed,
    log: Log,
    done: DoneFile,
    /// Before this life.
    finished: HashSet<String>,
}

/// Works until the work is over and nothing is open.
pub async fn work(orders: &Orders) -> anyhow::Result<()> {
    let finished = read(&orders.log())?.into_iter().filter_map(|line| match line {
        Line::Ended { action, end, .. } if end.final_here() => Some(action),
        _ => None,
    });
    let finished = finished.collect();
    // The owner's name is the client's own: it tells a restarted worker from the one that was killed.
    let deed = Deed::builder()
        .namespace(NAMESPACE)
        .patience(PATIENCE)
        .call_timeout(CALL_TIMEOUT)
        .report_deadline(REPORT_DEADLINE)
        .connect(&orders.server)?;
    let worker = Worker {
        orders,
        log: Log::open(&orders.log())?,
        done: DoneFile::at(&orders.directory.join("done")),
        finished,
        deed,
    };
    worker.log.write(&Line::Started {
        at_ms: now_ms(),
        owner: worker.deed.owner().to_owned(),
    })?;
    try_join_all(Fleet::ALL.map(|fleet| worker.serve(fleet))).await?;
    worker.deed.shutdown().await;
    Ok(())
}

impl Worker<'_> {
    /// Everything of one fleet, one after the other.
    async fn serve(&self, fleet: Fleet) -> anyhow::Result<()> {
        let receiver = ReceiverClient::new(self.orders.receivers[&fleet.conduct()], ANSWER_TIMEOUT)?;
        let period = i64::try_from(PERIOD.as_millis())?;
        let mut next = 0_u64;
        // What is open, and from when it is taken up again.
        let mut open: BTreeMap<u64, i64> = BTreeMap::new();
        loop {
            let last = self.over();
            let now = now_ms();
            while last.is_none_or(|last| next < last) {
                let due = self.orders.start_ms + i64::try_from(next)? * period;
                if due > now {
                    break;
                }
                let offers = fleet.offered_to(self.orders.seed, next);
                let mine = offers.iter().find(|(worker, _)| *worker == self.orders.number);
                if let Some((_, later)) = mine
                    && !self.finished.contains(&fleet.action(next))
                {
                    open.insert(next, due + i64::try_from(later.as_millis())?);
                }
                next += 1;
            }
            let due = open
                .iter()
                .filter(|(_, due)| **due <= now)
                .min_by_key(|(_, due)| **due);
            let Some(n) = due.map(|(n, _)| *n) else {
                if open.is_empty() && last.is_some_and(|last| next >= last) {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
                continue;
            };
            let action = fleet.action(n);
            let (end, acknowledged, pause) = if fleet.guarded() {
                self.perform(fleet, &action, &receiver).await?
            } else {
                (
                    self.insist(fleet, &action, &receiver).await?,
                    Vec::new(),
                    Duration::ZERO,
                )
            };
            if end.final_here() {
                open.remove(&n);
            } else {
                open.insert(n, now_ms() + i64::try_from(pause.as_millis())?);
            }
            self.log.write(&Line::Ended {
                at_ms: now_ms(),
                action,
                end,
                acknowledged,
            })?;
        }
    }

    fn over(&self) -> Option<u64> {
        fs::read_to_string(self.orders.directory.join(OVER))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    async fn insist(&self, fleet: Fleet, action: &str, receiver: &ReceiverClient) -> anyhow::Result<End> {
        if self.done.holds(action)? {
            return Ok(End::Believed { done: true });
        }
        let done = insist(receiver, &fleet.effect(action)).await;
        if done {
            self.done.add(action)?;
        }
        Ok(End::Believed { done })
    }

    /// One `perform`: how it ended, the tokens whose evidence it handed in, and when to try again.
    async fn perform(
        &self,
        fleet: Fleet,
        id: &str,
        receiver: &ReceiverClient,
    ) -> anyhow::Result<(End, Vec<u64>, Duration)> {
        // Whatever cannot be logged ends the worker: the checker would believe it otherwise.
        let unlogged = RefCell::new(None);
        let log = |line: Line| {
            if let Err(error) = self.log.write(&line) {
                unlogged.borrow_mut().get_or_insert(error);
            }
        };
        let evidence = RefCell::new(Vec::new());
        let action = || id.to_owned();
        let execute = async |grant: Grant| {
            let token = grant.token().number();
            // SUBTLE: a pause that falls in here ends after the lease. This executor goes on all the same, as many do; it is
            // the client's guard that has to cut it off before its first byte.
            tokio::time::sleep(PREPARATION).await;
            let left_ms = u64::try_from(grant.time_left().as_millis()).unwrap_or_default();
            log(Line::Sending {
                at_ms: now_ms(),
                action: action(),
                token,
                attempt: grant.attempt(),
                left_ms,
            });
            let request = fleet.effect(id).with_key(grant.outward_key()).with_token(token);
            let receipt = adapter::send(receiver, &request).await;
            evidence.borrow_mut().push(token);
            log(Line::Sent {
                at_ms: now_ms(),
                action: action(),
                token,
                receipt: receipt.name().to_owned(),
            });
            receipt
        };
        let verify = async |lookup: Lookup| {
            let token = lookup.token().number();
            let seen = adapter::look_up(receiver, id, &lookup).await;
            if seen.name() == "CONFIRMED" {
                evidence.borrow_mut().push(token);
            }
            log(Line::Looked {
                at_ms: now_ms(),
                action: action(),
                token,
                verdict: seen.name().to_owned(),
            });
            seen
        };
        let prepared = self
            .deed
            .action(id)
            .tool(fleet.tool())
            .input(&serde_json::json!({ "id": id }))?
            .contract(fleet.contract());
        let outcome = if fleet.looks_up() {
            prepared.perform(execute, verify).await
        } else {
            prepared.perform_without_verify(execute).await
        };
        if let Some(error) = unlogged.into_inner() {
            return Err(error);
        }
        let evidence = evidence.into_inner();
        Ok(match outcome {
            Ok(Outcome::Settled(settled)) => {
                let state = settled
                    .state
                    .as_str_name()
                    .trim_start_matches("STATE_")
                    .to_owned();
                let end = End::Settled {
                    state,
                    effect_id: settled.effect_id,
                };
                (end, evidence, Duration::ZERO)
            }
            Ok(Outcome::Blocked(blocked)) => {
                let reason = blocked
                    .reason
                    .as_str_name()
                    .trim_start_matches("BLOCKED_REASON_")
                    .to_owned();
                (End::Blocked { reason }, evidence, Duration::ZERO)
            }
            Ok(Outcome::Pending(pending)) => (End::Open, evidence, pause(&pending)),
            Err(error) if adapter::unanswered(&error) => (End::Unanswered, Vec::new(), ASK_AGAIN),
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                (End::Refused { error }, Vec::new(), ASK_AGAIN)
            }
        })
    }
}

fn pause(pending: &Pending) -> Duration {
    match pending {
        Pending::Wait { retry_after, .. } => *retry_after,
        Pending::Held { retry_after, .. } => (*retry_after).min(ASK_AGAIN),
        Pending::Claimable(_) => Duration::ZERO,
    }
}
