//! The jobs that wait, in a line for each action, so that a batch never holds two commands for one row and commands for
//! one row keep their order. It owns no bound: places are given out before a job gets here.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use deed_core::id::ActionKey;

use super::job::Job;

/// How much one transaction takes.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Commands.
    pub jobs: usize,
    /// Estimated bytes; a single command may exceed it.
    pub bytes: usize,
}

/// The jobs that wait.
#[derive(Debug, Default)]
pub struct Backlog {
    /// Actions with somebody waiting and nobody at work, in the order of their turn.
    ready: VecDeque<ActionKey>,
    /// Everybody who waits. An action at work keeps its line, even an empty one.
    lines: HashMap<ActionKey, VecDeque<Job>>,
}

impl Backlog {
    /// Puts a job at the end of its action's line.
    pub fn push(&mut self, job: Job) {
        match self.lines.entry(job.key().clone()) {
            Entry::Occupied(mut line) => line.get_mut().push_back(job),
            Entry::Vacant(vacant) => {
                self.ready.push_back(vacant.key().clone());
                vacant.insert(VecDeque::from([job]));
            }
        }
    }

    /// Puts a job that was taken back to the front of its line.
    pub fn push_front(&mut self, job: Job) {
        self.lines.entry(job.key().clone()).or_default().push_front(job);
    }

    /// Takes at most one job for each action, oldest turn first, sorted by key: no two transactions that lock several
    /// rows wait for each other in a circle. Jobs that nobody waits for are dropped. Every key taken stays out of the
    /// following turns until [`Backlog::done`].
    pub fn take(&mut self, bound: Bound, now: Instant) -> Vec<Job> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while taken.len() < bound.jobs {
            let Some(key) = self.ready.pop_front() else { break };
            let Some(job) = self.first(&key, now) else {
                continue;
            };
            bytes += job.bytes();
            if bytes > bound.bytes && !taken.is_empty() {
                self.push_front(job);
                self.ready.push_front(key);
                break;
            }
            taken.push(job);
        }
        taken.sort_by(|one, other| one.key().cmp(other.key()));
        taken
    }

    /// The action is no longer at work: whoever waits for it has its next turn.
    pub fn done(&mut self, key: &ActionKey) {
        match self.lines.get(key) {
            Some(line) if line.is_empty() => {
                self.lines.remove(key);
            }
            Some(_) => self.ready.push_back(key.clone()),
            None => {}
        }
    }

    /// Whether nobody waits for a turn.
    pub fn idle(&self) -> bool {
        self.ready.is_empty()
    }

    fn first(&mut self, key: &ActionKey, now: Instant) -> Option<Job> {
        let line = self.lines.get_mut(key)?;
        while let Some(job) = line.pop_front() {
            if let Some(job) = job.awaited(now) {
                return Some(job);
            }
        }
        self.lines.remove(key);
        None
    }
}
