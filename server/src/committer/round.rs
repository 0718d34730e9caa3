//! One transaction for a batch of jobs: read, judge, write. It decides nothing about failures; `carrier.rs` does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deed_core::Protocol;
use deed_core::id::ActionKey;
use deed_core::judgement::Judgement;
use deed_core::reply::{Refusal, Reply};
use deed_core::text::ExternalId;
use deed_core::time::{Span, Timestamp};

use super::job::Job;
use crate::store::{Busy, Connect, Error, Reading, Row, Transact, Write};

/// A read beyond its wait for a lock takes milliseconds. One that takes this long is talking to a host that has gone
/// without a word; nothing has been written yet, so the connection is given up.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// What became of one job of a transaction that went through.
#[derive(Debug)]
pub enum Verdict {
    /// Judged and committed.
    Judged(Staged),
    /// Somebody else holds its row.
    Busy,
    /// Somebody else inserted its row meanwhile: it has to be judged again.
    Again,
}

/// A reply that may be released.
#[derive(Debug)]
pub struct Staged {
    pub reply: Result<Reply, Refusal>,
    pub waited: Span,
    /// The database's time of the judgement.
    pub now: Timestamp,
    pub changed: bool,
    pub contests: Option<(ActionKey, ExternalId)>,
}

/// Where a transaction failed.
#[derive(Debug)]
pub enum Failure {
    /// Before anything was written.
    Reading(Error),
    /// While it was written or committed.
    Writing(Error),
}

/// A lane's connection, made anew when it is lost.
pub struct Link<C: Connect> {
    connect: Arc<C>,
    connection: C::Transact,
}

impl<C: Connect> Link<C> {
    pub fn new(connect: Arc<C>) -> Self {
        let connection = connect.connect();
        Self { connect, connection }
    }

    /// One transaction for `jobs`, which are sorted by key and name no key twice. The verdicts are in their order.
    pub async fn round(
        &mut self,
        protocol: &Protocol,
        jobs: &[Job],
        busy: Busy,
    ) -> Result<Vec<Verdict>, Failure> {
        let lookups: Vec<_> = jobs.iter().map(Job::lookup).collect();
        let sent = Instant::now();
        let patience = READ_LIMIT
            + match busy {
                Busy::Skip => Duration::ZERO,
                Busy::Wait(patience) => patience,
            };
        let reading = match tokio::time::timeout(patience, self.connection.read(&lookups, busy)).await {
            Ok(reading) => reading.map_err(Failure::Reading)?,
            Err(_elapsed) => {
                self.connection = self.connect.connect();
                return Err(Failure::Reading(silent(patience)));
            }
        };
        if reading.rows.len() != jobs.len() {
            self.connection = self.connect.connect();
            return Err(Failure::Reading(miscounted(
                "rows",
                reading.rows.len(),
                jobs.len(),
            )));
        }
        let Reading { now, waited, rows } = reading;
        let judged: Vec<Option<Judged>> = jobs
            .iter()
            .zip(rows)
            .map(|(job, row)| judge(protocol, job, row, now))
            .collect();
        let written = self.write(jobs, &judged).await.map_err(Failure::Writing)?;
        let mut written = written.into_iter();
        let stage = |(job, judged): (&Job, Option<Judged>)| {
            let Some(Judged { judgement, .. }) = judged else {
                return Verdict::Busy;
            };
            let changed = judgement.next.is_some();
            if changed && !written.next().unwrap_or(false) {
                return Verdict::Again;
            }
            let own = sent.saturating_duration_since(job.call.arrived);
            Verdict::Judged(Staged {
                reply: judgement.reply,
                waited: span(own).plus(waited),
                now,
                changed,
                contests: judgement.contests,
            })
        };
        Ok(jobs.iter().zip(judged).map(stage).collect())
    }

    // Nothing cancels a COMMIT: no timeout here. The store's socket options bound what a silent host can cost.
    async fn write(&mut self, jobs: &[Job], judged: &[Option<Judged>]) -> Result<Vec<bool>, Error> {
        let writes: Vec<Write<'_>> = judged.iter().flatten().filter_map(Judged::write).collect();
        // SUBTLE: a job whose earlier outcome is not known may read its own grant as if it were somebody else's news
        // (a renewal that changes nothing any more, say): whatever it reads is told only after a synchronous commit
        // (rule 19, C4, C20).
        let synchronous = judged.iter().flatten().any(|judged| judged.judgement.reads_back)
            || jobs.iter().any(|job| job.doubtful);
        let written = self.connection.write(&writes, synchronous).await?;
        if written.len() == writes.len() {
            Ok(written)
        } else {
            Err(miscounted("writes", written.len(), writes.len()))
        }
    }
}

/// A judgement with the row it was made on.
#[derive(Debug)]
struct Judged {
    judgement: Judgement,
    previous: Option<deed_core::id::Version>,
}

impl Judged {
    fn write(&self) -> Option<Write<'_>> {
        let next = self.judgement.next.as_deref()?;
        Some(Write {
            previous: self.previous,
            next,
            events: &self.judgement.events,
            registers: self.judgement.registers.as_ref(),
        })
    }
}

fn judge(protocol: &Protocol, job: &Job, row: Row, now: Timestamp) -> Option<Judged> {
    let (action, remembered) = match row {
        Row::Busy => return None,
        Row::Absent(remembered) => (None, remembered),
        Row::Found(action, remembered) => (Some(action), remembered),
    };
    let judgement = protocol.decide(action.as_deref(), &remembered, &job.call.command, now);
    Some(Judged {
        judgement,
        previous: action.map(|action| action.version),
    })
}

fn span(duration: Duration) -> Span {
    Span::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

fn silent(patience: Duration) -> Error {
    Error::Determinate {
        what: format!("no answer to a read within {} ms", patience.as_millis()),
        transient: true,
        source: None,
    }
}

/// A store that breaks its word. What it did is not known.
fn miscounted(of: &str, got: usize, asked: usize) -> Error {
    Error::Indeterminate {
        what: format!("the store answered for {got} {of} where {asked} were asked"),
        source: None,
    }
}
