//! Many claims or many reports at once, in as few calls as it takes.
//!
//! Owns that every one of them gets its own answer: an entry that could not be judged for the moment is repeated like any
//! call, under its request id, and costs the others nothing.

use std::time::Duration;

use deed_proto::v1;
use prost::Message;
use tokio::time::Instant;
use tonic::Status;
use v1::batch_result::Result as Outcome;

use crate::calls::{Calls, Request};
use crate::error::CallError;
use crate::repeat::{Limits, Verdict, pauses, verdict};
use crate::session::status;

/// What the service takes in one call.
const MOST_ENTRIES: usize = 1_000;
/// Of its 4 MiB, since entries are counted here without what frames them.
const MOST_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;

/// What came of one entry so far.
enum Entry {
    /// Asked this often, and last met by this.
    Open(u32, Option<Status>),
    Answered(Box<v1::Answer>),
    Failed(CallError),
}

impl Calls {
    /// Claims many actions. The answers are in the order of the claims, each for itself: a claim that is refused, or finds no
    /// answer, costs the others nothing. Every grant among them has to be used or given back. Claims of one action are
    /// answered in their order, unless one has to be repeated.
    pub async fn claim_many(&self, claims: Vec<v1::ClaimRequest>) -> Vec<Result<v1::Answer, CallError>> {
        self.many("BatchClaim", claims, async |entries, limits| {
            let request = v1::BatchClaimRequest { entries };
            let answered = self.batch_claim_within(request, limits).await?;
            Ok(answered.message.results)
        })
        .await
    }

    /// Hands in many receipts; as [`Calls::claim_many`]. A report that finds no answer has to be handed in again.
    pub async fn report_many(&self, reports: Vec<v1::ReportRequest>) -> Vec<Result<v1::Answer, CallError>> {
        self.many("BatchReport", reports, async |entries, limits| {
            let request = v1::BatchReportRequest { entries };
            let answered = self.batch_report_within(request, limits).await?;
            Ok(answered.message.results)
        })
        .await
    }

    async fn many<M: Request + Message + Clone>(
        &self,
        call: &'static str,
        mut messages: Vec<M>,
        send: impl AsyncFn(Vec<M>, Limits) -> Result<Vec<v1::BatchResult>, CallError>,
    ) -> Vec<Result<v1::Answer, CallError>> {
        for message in &mut messages {
            // Once, so that every repeat has the same request id.
            message.stamp(self.owner());
        }
        let started = Instant::now();
        let deadline = started + self.limits().total;
        let mut entries: Vec<Entry> = messages.iter().map(|_| Entry::Open(0, None)).collect();
        let mut pauses = pauses();
        loop {
            let mut wish = Duration::ZERO;
            for batch in batches(&messages, &entries) {
                let sent = batch.iter().filter_map(|&index| messages.get(index).cloned());
                let limits = Limits {
                    each: self.limits().each,
                    total: deadline.saturating_duration_since(Instant::now()),
                };
                match send(sent.collect(), limits).await {
                    Ok(results) if results.len() == batch.len() => {
                        for (index, result) in batch.into_iter().zip(results) {
                            wish = wish.max(entries[index].take(call, result));
                        }
                    }
                    Ok(_) => {
                        let problem = "it has another number of results than there were entries";
                        fail(&mut entries, &batch, &CallError::Unintelligible { call, problem });
                    }
                    Err(error) => fail(&mut entries, &batch, &error),
                }
            }
            let open = entries.iter().any(|entry| matches!(entry, Entry::Open(..)));
            let pause = pauses.next().unwrap_or_default().max(wish);
            if !open || Instant::now() + pause >= deadline {
                let waited = started.elapsed();
                return entries
                    .into_iter()
                    .map(|entry| entry.ended(call, waited))
                    .collect();
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// The open entries by their places, as many in one call as it takes.
fn batches<M: Message>(messages: &[M], entries: &[Entry]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for (index, (message, entry)) in messages.iter().zip(entries).enumerate() {
        if !matches!(entry, Entry::Open(..)) {
            continue;
        }
        bytes += message.encoded_len();
        match batches.last_mut() {
            Some(batch) if batch.len() < MOST_ENTRIES && bytes <= MOST_BYTES => batch.push(index),
            Some(_) | None => {
                bytes = message.encoded_len();
                batches.push(vec![index]);
            }
        }
    }
    batches
}

fn fail(entries: &mut [Entry], batch: &[usize], error: &CallError) {
    for &index in batch {
        entries[index] = Entry::Failed(error.clone());
    }
}

impl Entry {
    /// Takes its result, and says after which time it can be repeated.
    fn take(&mut self, call: &'static str, result: v1::BatchResult) -> Duration {
        let tries = match self {
            Self::Open(tries, _) => *tries + 1,
            Self::Answered(_) | Self::Failed(_) => 1,
        };
        let (next, wish) = match result.result {
            Some(Outcome::Answer(answer)) => (Self::Answered(Box::new(answer)), Duration::ZERO),
            Some(Outcome::Error(error)) => {
                let status = status(error);
                match verdict(&status) {
                    Verdict::Refused(refusal) => {
                        let refusal = Box::new(refusal);
                        (Self::Failed(CallError::Refused { call, refusal }), Duration::ZERO)
                    }
                    Verdict::Again(wish) => (Self::Open(tries, Some(status)), wish),
                }
            }
            None => {
                let problem = "an entry has no result that this client knows";
                (
                    Self::Failed(CallError::Unintelligible { call, problem }),
                    Duration::ZERO,
                )
            }
        };
        *self = next;
        wish
    }

    fn ended(self, call: &'static str, waited: Duration) -> Result<v1::Answer, CallError> {
        match self {
            Self::Answered(answer) => Ok(*answer),
            Self::Failed(error) => Err(error),
            Self::Open(tries, last) => Err(CallError::Unanswered {
                call,
                tries,
                waited,
                last: last.map(Box::new),
            }),
        }
    }
}
