//! A lane: one connection that takes whatever has gathered while its previous transaction ran. There is no timer, so an
//! idle lane adds no delay, and a busy one makes its batches larger by itself.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::backlog::{Backlog, Bound};
use super::carrier::Carrier;
use super::job::Job;
use super::office::Door;
use crate::store::{Busy, Connect};

/// Runs a lane until `stop`, and then until nobody waits any more.
pub async fn run<C: Connect>(
    mut inbox: mpsc::UnboundedReceiver<Job>,
    mut carrier: Carrier<C>,
    apart: Arc<Door>,
    bound: Bound,
    stop: CancellationToken,
) {
    let mut backlog = Backlog::default();
    loop {
        if backlog.idle() {
            tokio::select! {
                biased;
                job = inbox.recv() => match job {
                    Some(job) => backlog.push(job),
                    None => return,
                },
                () = stop.cancelled() => return,
            }
        }
        while let Ok(job) = inbox.try_recv() {
            backlog.push(job);
        }
        let jobs = backlog.take(bound, Instant::now());
        let keys: Vec<_> = jobs.iter().map(|job| job.key().clone()).collect();
        for job in carrier.carry(jobs, Busy::Skip).await {
            apart.take_over(job);
        }
        for key in &keys {
            backlog.done(key);
        }
    }
}
