//! One call inside the committer, from its place in a queue to its one answer.

use std::time::{Duration, Instant};

use deed_core::command::{Ask, Command};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::id::ActionKey;
use deed_core::spec::Specification;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::service::{Call, Error, Judged};
use crate::store::Lookup;

/// What a store without room to breathe is given before the caller comes back: longer than a restart of a connection,
/// shorter than anybody's lease.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// A row's fixed columns, keys and history, beside the texts that are counted: an estimate for the bound in bytes.
const FIXED_BYTES: usize = 1024;

/// A call with whoever waits for it.
#[derive(Debug)]
pub struct Job {
    pub call: Call,
    answer: oneshot::Sender<Result<Judged, Error>>,
    /// Its place in a bounded queue; absent for the committer's own follow-ups.
    place: Option<OwnedSemaphorePermit>,
    /// Since when transactions fail that carry it.
    pub failing_since: Option<Instant>,
    /// How often the database refused it for a reason that no waiting mends.
    pub refused: u32,
    /// It may have been written already, by a transaction whose outcome is not known.
    pub doubtful: bool,
}

impl Job {
    /// A job, and where its answer will arrive.
    pub fn new(
        call: Call,
        place: Option<OwnedSemaphorePermit>,
    ) -> (Self, oneshot::Receiver<Result<Judged, Error>>) {
        let (answer, arrives) = oneshot::channel();
        let job = Self {
            call,
            answer,
            place,
            failing_since: None,
            refused: 0,
            doubtful: false,
        };
        (job, arrives)
    }

    /// The action it speaks of.
    pub fn key(&self) -> &ActionKey {
        &self.call.command.key
    }

    /// The job, unless nobody waits for it any more. One whose deadline has passed is told so.
    pub fn awaited(self, now: Instant) -> Option<Self> {
        if self.answer.is_closed() {
            return None;
        }
        if now >= self.call.deadline {
            self.answer(Err(Error::DeadlineExceeded));
            return None;
        }
        Some(self)
    }

    /// Moves it to another queue, or gives it back where that is full.
    pub fn moved(mut self, place: Option<OwnedSemaphorePermit>) -> Self {
        self.place = place;
        self
    }

    /// Answers it. Nobody may be there any more; that is the caller's choice.
    pub fn answer(self, answer: Result<Judged, Error>) {
        let _gone = self.answer.send(answer);
    }

    /// Tells it that the database gives no answer.
    pub fn unavailable(self, why: String) {
        self.answer(Err(unavailable(why)));
    }

    /// What the store has to look up for it.
    pub fn lookup(&self) -> Lookup {
        let Command { key, request, ask } = &self.call.command;
        let (token, external_id, spec) = match ask {
            Ask::Plan { spec } | Ask::Claim { spec, .. } => (None, None, Some(spec)),
            Ask::Begin { token } | Ask::Renew { token } | Ask::Release { token } => (Some(token), None, None),
            Ask::Report {
                token, receipt, spec, ..
            } => (Some(token), receipt.external_id(), spec.as_ref()),
            Ask::Verify {
                token, observation, ..
            } => (Some(token), observation.external_id(), None),
            Ask::Observe { observation } => (None, observation.external_id(), None),
            Ask::Contest { external_id, .. } => (None, Some(external_id), None),
            Ask::Decide { decision, .. } => (None, resolved(decision), None),
            Ask::Sweep => (None, None, None),
        };
        Lookup {
            key: key.clone(),
            request: request.id,
            token: token.copied(),
            external_id: external_id.cloned(),
            tool: spec.map(|spec| spec.tool.clone()),
        }
    }

    /// Roughly what it adds to a transaction.
    pub fn bytes(&self) -> usize {
        let payload = match &self.call.command.ask {
            Ask::Plan { spec } | Ask::Claim { spec, .. } => described(spec),
            Ask::Report { receipt, spec, .. } => {
                let result = match receipt {
                    Receipt::Completed { result, .. } => result.as_ref().map_or(0, Vec::len),
                    Receipt::Accepted { .. }
                    | Receipt::Rejected { .. }
                    | Receipt::NotApplied { .. }
                    | Receipt::NotSent { .. }
                    | Receipt::Unknown { .. } => 0,
                };
                result + spec.as_deref().map_or(0, described)
            }
            Ask::Verify { observation, .. } | Ask::Observe { observation } => match &observation.verdict {
                Verdict::Confirmed { result, .. } => result.as_ref().map_or(0, Vec::len),
                Verdict::NotFound
                | Verdict::Pending { .. }
                | Verdict::Failed { .. }
                | Verdict::Partial
                | Verdict::Unknown { .. } => 0,
            },
            Ask::Begin { .. }
            | Ask::Renew { .. }
            | Ask::Release { .. }
            | Ask::Sweep
            | Ask::Contest { .. }
            | Ask::Decide { .. } => 0,
        };
        FIXED_BYTES + payload
    }
}

/// The answer of a committer whose database gives none.
pub fn unavailable(why: String) -> Error {
    Error::StoreUnavailable {
        why,
        retry_after: RETRY_AFTER,
    }
}

fn described(spec: &Specification) -> usize {
    let labels: usize = spec
        .labels
        .iter()
        .map(|label| label.key.as_str().len() + label.value.as_str().len())
        .sum();
    spec.expected.description.as_str().len() + labels
}

fn resolved(decision: &deed_core::command::Decision) -> Option<&deed_core::text::ExternalId> {
    use deed_core::command::{Decision, Resolution};
    match decision {
        Decision::Resolve {
            resolution: Resolution::Confirmed { external_id },
            ..
        } => external_id.as_ref(),
        Decision::Resolve {
            resolution:
                Resolution::Absent | Resolution::Rejected | Resolution::Compensated { .. } | Resolution::Abandoned,
            ..
        }
        | Decision::Approve { .. }
        | Decision::Deny
        | Decision::Assign { .. }
        | Decision::Reopen { .. }
        | Decision::Acknowledge { .. } => None,
    }
}
