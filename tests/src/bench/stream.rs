//! Deed by sessions: many callers on one stream, without a task for each. What a client costs that does nothing else.
//!
//! A caller's number is its correlation id, since it has one call in flight at a time.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use deed_proto::v1;
use deed_proto::v1::ownership_client::OwnershipClient;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use tonic::Streaming;
use tonic::transport::Channel;
use v1::next_step::Kind;
use v1::session_request::Call;
use v1::session_response::Outcome;

use super::course::{Course, Running, Tally};
use super::unary::{self, step};
use super::work;

/// The callers of one session.
pub struct Callers {
    channel: Channel,
    callers: Vec<Caller>,
}

/// One of them.
struct Caller {
    owner: String,
    /// Claimed again and again where it is held by somebody else.
    held: Option<String>,
    /// Its action, and since when it is due; while it is at work.
    at: Option<(String, Instant)>,
}

impl Callers {
    /// Numbered from `first`; `held` names what each claims in vain.
    pub fn new(channel: Channel, first: usize, held: Vec<Option<String>>) -> Self {
        let caller = |(number, held)| Caller {
            owner: work::owner(number),
            held,
            at: None,
        };
        Self {
            channel,
            callers: (first..).zip(held).map(caller).collect(),
        }
    }

    pub fn running(self, course: &Arc<Course>) -> Running {
        let course = Arc::clone(course);
        Box::pin(async move {
            let (requests, sent) = unbounded();
            let mut ownership = OwnershipClient::new(self.channel.clone());
            let answers = ownership.session(sent).await?.into_inner();
            let session = Session {
                requests,
                specification: work::specification(),
                idle: (0..self.callers.len()).collect(),
                callers: self.callers,
                tally: Tally::new()?,
            };
            session.run(&course, answers).await
        })
    }
}

/// One session while it runs.
struct Session {
    requests: UnboundedSender<v1::SessionRequest>,
    specification: v1::Specification,
    callers: Vec<Caller>,
    /// Who has nothing to do.
    idle: Vec<usize>,
    tally: Tally,
}

impl Session {
    async fn run(
        mut self,
        course: &Course,
        mut answers: Streaming<v1::SessionResponse>,
    ) -> anyhow::Result<Tally> {
        let mut going = true;
        while going || self.idle.len() < self.callers.len() {
            tokio::select! {
                biased;
                due = course.next(), if going && !self.idle.is_empty() => match due {
                    Some(due) => self.start(due)?,
                    None => going = false,
                },
                answer = answers.message(), if self.idle.len() < self.callers.len() => {
                    let answer = answer?.context("the server ended the session")?;
                    self.hear(course, answer)?;
                }
            }
        }
        Ok(self.tally)
    }

    fn start(&mut self, due: Instant) -> anyhow::Result<()> {
        let number = self.idle.pop().context("nobody is idle")?;
        let caller = self.callers.get_mut(number).context("no such caller")?;
        let id = caller.held.clone().unwrap_or_else(work::fresh_id);
        let claim = unary::claim(&id, &caller.owner, &self.specification);
        caller.at = Some((id, due));
        self.send(number, Call::Claim(claim))
    }

    fn send(&self, number: usize, call: Call) -> anyhow::Result<()> {
        let request = v1::SessionRequest {
            correlation_id: number as u64 + 1,
            timeout: None,
            call: Some(call),
        };
        self.requests
            .unbounded_send(request)
            .context("the session has ended")
    }

    fn hear(&mut self, course: &Course, answer: v1::SessionResponse) -> anyhow::Result<()> {
        let number = usize::try_from(answer.correlation_id)?.wrapping_sub(1);
        let caller = self.callers.get_mut(number).context("an answer to nobody")?;
        let (id, due) = caller.at.take().context("an answer to nothing")?;
        let answer = match answer.outcome {
            Some(Outcome::Answer(answer)) => answer,
            other => bail!("a call on a session was answered by {other:?}"),
        };
        match (step(Some(answer))?, &caller.held) {
            (Kind::Execute(execute), None) if execute.begun => {
                let report = unary::report(&id, &caller.owner, execute.fencing_token);
                caller.at = Some((id, due));
                return self.send(number, Call::Report(report));
            }
            (Kind::Settled(_), None) | (Kind::Held(_), Some(_)) => {}
            (other, _) => bail!("this load does not lead to {other:?}"),
        }
        self.idle.push(number);
        self.tally.count(course, due, 1);
        Ok(())
    }
}
