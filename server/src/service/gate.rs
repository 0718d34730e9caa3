//! The gate in front of the committer: whoever is let in is answered, by the deadline at the latest. It bounds how long
//! a call may take and lets nobody in any more once the server drains; how many may wait is bounded by the queues
//! behind it.

use std::sync::Arc;
use std::time::Duration;

use deed_core::id::ActionKey;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Call, Error, Judge, Judged, Watch};

/// The longest that a call may wait, whatever its caller asked for: a worker that hears nothing for this long is better
/// off asking again.
const LONGEST: Duration = Duration::from_secs(60);

/// Lets calls in. Cheap to clone; all clones are one gate.
#[derive(Debug)]
pub struct Gate<J> {
    judge: Arc<J>,
    draining: CancellationToken,
    inside: TaskTracker,
}

impl<J> Gate<J> {
    /// An open gate.
    pub fn new(judge: Arc<J>) -> Self {
        Self {
            judge,
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

    /// Waits until everybody who was let in has been answered. Close it first.
    pub async fn empty(&self) {
        self.inside.wait().await;
    }
}

impl<J> Clone for Gate<J> {
    fn clone(&self) -> Self {
        Self {
            judge: Arc::clone(&self.judge),
            draining: self.draining.clone(),
            inside: self.inside.clone(),
        }
    }
}

impl<J: Judge> Judge for Gate<J> {
    async fn judge(&self, mut call: Call) -> Result<Judged, Error> {
        // SUBTLE: counted before the look at the sign, or a call could slip in between the sign and the count, and be
        // cut off by a server that believes itself empty.
        let _inside = self.inside.token();
        if self.draining.is_cancelled() {
            return Err(Error::ShuttingDown);
        }
        call.deadline = call.deadline.min(call.arrived + LONGEST);
        let deadline = Instant::from_std(call.deadline);
        timeout_at(deadline, self.judge.judge(call))
            .await
            .unwrap_or(Err(Error::DeadlineExceeded))
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
        let gate = Gate::new(Arc::new(Slow(Semaphore::new(0))));
        let told = gate.judge(call(Duration::from_millis(20))).await;
        assert!(matches!(told, Err(Error::DeadlineExceeded)));
    }

    #[tokio::test]
    async fn a_draining_gate_answers_those_inside_and_refuses_the_others() {
        let slow = Arc::new(Slow(Semaphore::new(0)));
        let gate = Gate::new(Arc::clone(&slow));
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
