//! The gate in front of the committer: whoever is let in is answered, by the deadline at the latest. It bounds how long
//! a call may take, takes turns between the lines before it, and lets nobody in any more once the server drains.

use std::sync::Arc;
use std::time::Duration;

use deed_core::command::Ask;
use deed_core::id::ActionKey;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::turns::Turns;
use super::{Call, Error, Judge, Judged, Line, Watch};

/// The longest that a call may wait, whatever its caller asked for: a worker that hears nothing for this long is better
/// off asking again.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a call keeps its place inside. What takes longer waits for a row that somebody holds, or for a database that
/// is away: others lose nothing when they are let in beside it.
const AT_WORK: Duration = Duration::from_millis(250);

/// Lets calls in. Cheap to clone; all clones are one gate.
#[derive(Debug)]
pub struct Gate<J> {
    judge: Arc<J>,
    turns: Arc<Turns>,
    at_work: Duration,
    draining: CancellationToken,
    inside: TaskTracker,
}

impl<J> Gate<J> {
    /// An open gate, with so many calls at work behind it at once.
    pub fn new(judge: Arc<J>, places: usize) -> Self {
        Self {
            judge,
            turns: Turns::new(places),
            at_work: AT_WORK,
            draining: CancellationToken::new(),
            inside: TaskTracker::new(),
        }
    }

    /// Lets nobody in any more.
    pub fn close(&self) {
        self.draining.cancel();
        self.inside.close();
    }

    /// Is cancelled when the gate closes; for those who wait for something that may never come.
    #[must_use]
    pub fn closing(&self) -> CancellationToken {
        self.draining.clone()
    }

    /// The same, but calls keep their places for so long.
    #[cfg(test)]
    pub fn at_work_for(self, at_work: Duration) -> Self {
        Self { at_work, ..self }
    }

    /// How many wait for their turn.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// Waits until everybody who was let in has been answered. Close it first.
    pub async fn empty(&self) {
        self.inside.wait().await;
    }
}

impl<J> Clone for Gate<J> {
    fn clone(&self) -> Self {
        Self {
            judge: Arc::clone(&self.judge),
            turns: Arc::clone(&self.turns),
            at_work: self.at_work,
            draining: self.draining.clone(),
            inside: self.inside.clone(),
        }
    }
}

impl<J: Judge> Gate<J> {
    /// Takes its turn, and gives its place back early where it only waits.
    async fn in_turn(&self, line: Line, call: Call) -> Result<Judged, Error> {
        let deadline = Instant::from_std(call.deadline);
        let judge = self.judge.as_ref();
        // SUBTLE: a renewal takes no turn. It has a lane of its own, and a lease must not be lost to a queue (B06).
        if let Ask::Renew { .. } = call.command.ask {
            return by(deadline, judge.judge(call)).await;
        }
        let place = by(deadline, self.turns.place(line)).await?;
        let mut judged = std::pin::pin!(judge.judge(call));
        let at_work = deadline.min(Instant::now() + self.at_work);
        if let Ok(judged) = timeout_at(at_work, &mut judged).await {
            return judged;
        }
        drop(place);
        by(deadline, judged).await
    }
}

async fn by<T>(deadline: Instant, awaited: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout_at(deadline, awaited)
        .await
        .unwrap_or(Err(Error::DeadlineExceeded))
}

impl<J: Judge> Judge for Gate<J> {
    async fn judge(&self, call: Call) -> Result<Judged, Error> {
        self.judge_in_turn(Line::Connection(None), call).await
    }

    async fn judge_in_turn(&self, line: Line, mut call: Call) -> Result<Judged, Error> {
        // SUBTLE: counted before the look at the sign, or a call could slip in between the sign and the count, and be
        // cut off by a server that believes itself empty.
        let _inside = self.inside.token();
        if self.draining.is_cancelled() {
            return Err(Error::ShuttingDown);
        }
        call.deadline = call.deadline.min(call.arrived + LONGEST);
        self.in_turn(line, call).await
    }

    fn watch(&self, key: &ActionKey) -> impl Watch + Send {
        self.judge.watch(key)
    }
}

#[cfg(test)]
mod tests {
    use deed_core::command::{Ask, Command, Request};
    use deed_core::id::{Caller, Fingerprint, RequestId};
    use deed_core::reply::Refusal;
    use deed_core::text::{ActionId, Namespace, Owner, Principal};
    use tokio::sync::Semaphore;

    use super::*;

    /// Answers as often as it is allowed to.
    struct Slow(Semaphore);

    impl Judge for Slow {
        async fn judge(&self, _call: Call) -> Result<Judged, Error> {
            self.0.acquire().await.unwrap().forget();
            Err(Error::Refused(Refusal::ActionNotFound))
        }

        fn watch(&self, _key: &ActionKey) -> impl Watch + Send {
            Nothing
        }
    }

    struct Nothing;

    impl Watch for Nothing {
        async fn changed(&mut self) {
            std::future::pending().await
        }
    }

    fn call(patience: Duration) -> Call {
        let arrived = std::time::Instant::now();
        let caller = Caller {
            owner: Owner::new("w1").unwrap(),
            principal: Principal::new("local").unwrap(),
        };
        Call {
            command: Command {
                key: ActionKey {
                    namespace: Namespace::new("shop").unwrap(),
                    action_id: ActionId::new("a").unwrap(),
                },
                request: Request {
                    id: RequestId(uuid::Uuid::from_u128(1)),
                    fingerprint: Fingerprint([0; 16]),
                    caller,
                },
                ask: Ask::Sweep,
            },
            arrived,
            deadline: arrived + patience,
        }
    }

    #[tokio::test]
    async fn a_caller_is_answered_by_its_deadline() {
        let gate = Gate::new(Arc::new(Slow(Semaphore::new(0))), 1);
        let told = gate.judge(call(Duration::from_millis(20))).await;
        assert!(matches!(told, Err(Error::DeadlineExceeded)));
    }

    #[tokio::test]
    async fn a_draining_gate_answers_those_inside_and_refuses_the_others() {
        let slow = Arc::new(Slow(Semaphore::new(0)));
        let gate = Gate::new(Arc::clone(&slow), 1);
        let inside = {
            let gate = gate.clone();
            tokio::spawn(async move { gate.judge(call(LONGEST)).await })
        };
        tokio::task::yield_now().await;
        gate.close();
        let told = gate.judge(call(LONGEST)).await;
        assert!(matches!(told, Err(Error::ShuttingDown)));
        let mut empty = std::pin::pin!(gate.empty());
        assert!(futures::poll!(empty.as_mut()).is_pending());
        slow.0.add_permits(1);
        empty.await;
        assert!(matches!(inside.await.unwrap(), Err(Error::Refused(_))));
    }
}
