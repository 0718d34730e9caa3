//! Gathers concurrent commands into transactions (group commit): the way from a call to its committed reply.
//!
//! It owns the lanes and their connections, the order of commands for one action, and the mending of failed
//! transactions. It decides nothing (the core does) and knows no SQL (the store does); who may call, and for how long,
//! is the service's.
//!
//! - A call goes to the lane that its action hashes to; renewals have a lane of their own, so that load never starves
//!   them. Queues are bounded; at a full one the caller is told so at once.
//! - A lane takes whatever gathered while its previous transaction ran: no timer, at most one command for each action,
//!   keys in one order, leaving out callers that have gone.
//! - A row that somebody else holds is skipped and goes on apart: one stuck row holds up neither its neighbours nor a
//!   lane.
//! - Replies are released only after the commit. Nothing cancels a COMMIT: transactions run in the lane's own task,
//!   whatever becomes of their callers.

mod apart;
mod backlog;
mod carrier;
mod changes;
mod job;
mod lane;
mod office;
mod round;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::time::Duration;

use deed_core::Protocol;
use deed_core::id::ActionKey;
use tokio_util::sync::CancellationToken;

use crate::service::{Call, Error, Judge, Judged, Watch};
use crate::store::Connect;
use apart::Yard;
use backlog::Bound;
use carrier::{Carrier, Post};
use office::{Door, Office};

/// How a committer is built. The defaults suit one replica on two to eight cores.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Lanes beside the one for renewals; each holds one connection.
    pub lanes: usize,
    /// Calls that may wait in one lane.
    pub queue: usize,
    /// Commands in one transaction.
    pub batch: usize,
    /// Estimated bytes in one transaction.
    pub batch_bytes: usize,
    /// Workers, each with one connection, for rows that somebody else holds. Renewals have one more of their own.
    pub apart: usize,
    /// How long failures are mended before callers are told that the database is not available.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // One transaction commits while the other is judged. More lanes make batches smaller, and a transaction has a
            // price of its own: with 64 callers on two cores, an action costs Postgres half as much again with four lanes
            // (`DEED_LANES=4 BENCH_ONLY=session/64 make bench`).
            lanes: 2,
            // About a second's worth at a thousand transactions of small batches.
            queue: 4_096,
            // A batch of this size keeps its locks for some tens of milliseconds; a row costs least in a large one.
            batch: 512,
            // Two of the largest results that one call may carry.
            batch_bytes: 8 * 1024 * 1024,
            apart: 4,
            // A failover takes longer, a hiccup does not.
            patience: Duration::from_secs(2),
        }
    }
}

/// A running committer. Dropping it ends its lanes once their queues are empty.
#[derive(Debug)]
pub struct Committer {
    office: Arc<Office>,
    stop: CancellationToken,
}

impl Committer {
    /// Starts the lanes. Connections are made when the first call needs them.
    pub fn start<C: Connect>(connect: Arc<C>, protocol: Protocol, options: Options) -> Self {
        let stop = CancellationToken::new();
        let (renewals, renewals_inbox) = Door::new(options.queue);
        let (lanes, inboxes): (Vec<_>, Vec<_>) = (0..options.lanes.max(1))
            .map(|_| Door::new(options.queue))
            .unzip();
        let office = Arc::new(Office::new(protocol, options.patience, renewals, lanes));
        let crew = Crew {
            connect,
            office,
            options,
            stop,
        };
        let apart = crew.yard(options.apart.max(1));
        for inbox in inboxes {
            crew.lane(inbox, Arc::clone(&apart));
        }
        crew.lane(renewals_inbox, crew.yard(1));
        let Crew { office, stop, .. } = crew;
        Self { office, stop }
    }

    /// Ends the lanes once their queues are empty, and waits for that. Admit nothing before calling it.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.office.tasks.close();
        self.office.tasks.wait().await;
    }
}

impl Judge for Committer {
    async fn judge(&self, call: Call) -> Result<Judged, Error> {
        self.office.judge(call).await
    }

    fn watch(&self, key: &ActionKey) -> impl Watch + Send {
        self.office.changes.wait_for(key)
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts tasks that share the same things.
struct Crew<C: Connect> {
    connect: Arc<C>,
    office: Arc<Office>,
    options: Options,
    stop: CancellationToken,
}

impl<C: Connect> Crew<C> {
    fn carrier(&self, post: Post) -> Carrier<C> {
        Carrier::new(Arc::clone(&self.connect), Arc::clone(&self.office), post)
    }

    fn lane(&self, inbox: tokio::sync::mpsc::UnboundedReceiver<job::Job>, apart: Arc<Door>) {
        let bound = Bound {
            jobs: self.options.batch.max(1),
            bytes: self.options.batch_bytes,
        };
        let lane = lane::run(inbox, self.carrier(Post::Lane), apart, bound, self.stop.clone());
        self.office.tasks.spawn(lane);
    }

    fn yard(&self, workers: usize) -> Arc<Door> {
        let (door, inbox) = Door::new(self.options.queue);
        let yard = Arc::new(Yard::default());
        let (receiving, stop) = (Arc::clone(&yard), self.stop.clone());
        self.office
            .tasks
            .spawn(async move { receiving.receive(inbox, stop).await });
        for _ in 0..workers {
            let (yard, carrier, stop) = (Arc::clone(&yard), self.carrier(Post::Apart), self.stop.clone());
            self.office
                .tasks
                .spawn(async move { yard.work(carrier, stop).await });
        }
        Arc::new(door)
    }
}
