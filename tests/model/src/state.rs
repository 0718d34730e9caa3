//! A moment of a world: clocks, what is written, what everybody is doing, what is still on its way.

use std::sync::Arc;

use super::claims::Broken;
use super::deed::Store;
use super::receiver::{Outcome, Receiver, Sees};
use super::said::Said;
use super::setting::{Setting, Tick};

/// A call that has arrived once. It may arrive again at any later time and any number of times: it is never taken off the
/// network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// What it says.
    pub said: Said,
    /// It brought evidence, and its answer was heard.
    pub acknowledged: bool,
}

/// What a worker is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Doing {
    /// Nothing.
    Idle,
    /// Waiting for the answer to its call of this number.
    Waiting(u8),
    /// Holding a grant whose gate has not been passed.
    Granted {
        /// The token.
        token: u64,
        /// Its lease is surely live before this, in true time.
        until: Tick,
        /// What a send would carry.
        load: Load,
    },
    /// Waiting for the answer to its word that it may have sent, without having passed the gate; then it sends.
    Confessing {
        /// The call.
        call: u8,
        /// The token.
        token: u64,
        /// Its lease is surely live before this, in true time.
        until: Tick,
        /// What a send would carry.
        load: Load,
    },
    /// Through the gate; the first byte has not left.
    Ready {
        /// The token.
        token: u64,
        /// Its lease is surely live before this, in true time.
        until: Tick,
        /// What the send carries.
        load: Load,
        /// It has said already that it does not know.
        said: bool,
    },
    /// Sending.
    Sending {
        /// Under this token.
        token: u64,
        /// It has said already that it does not know.
        said: bool,
    },
    /// The send is over.
    Sent {
        /// The token.
        token: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// Holding a grant to look up.
    Looking(u64),
    /// It has looked.
    Looked {
        /// The token.
        token: u64,
        /// What it saw.
        sees: Sees,
    },
}

/// What a send carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Load {
    /// One bit a fact.
    pub parts: u8,
    /// Of the outward key.
    pub generation: u32,
}

/// A worker, and everything that it has ever said.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Worker {
    /// What it is doing.
    pub doing: Doing,
    /// How many claims it may still make.
    pub claims: u8,
    /// Its calls.
    pub calls: Vec<Call>,
}

/// A moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// True time: the workers' and the receiver's clocks.
    pub now: Tick,
    /// How far the database's clock is ahead of it.
    pub ahead: Tick,
    /// What the primary has written.
    pub primary: Arc<Store>,
    /// What the standby has of it.
    pub standby: Arc<Store>,
    /// The workers.
    pub workers: [Worker; 2],
    /// The outside system.
    pub receiver: Receiver,
    /// How often a worker may still crash.
    pub crashes: u8,
    /// How often the database's clock may still step.
    pub clock_steps: u8,
    /// How often the standby may still be promoted.
    pub failovers: u8,
    /// How many decisions have been made.
    pub decided: u8,
    /// The version and the number of the last event that the operator looked at.
    pub looked_at: Option<(u64, u32)>,
    /// One more attempt may begin.
    pub licence: bool,
    /// Deed has been told that the effect exists.
    pub proven: bool,
    /// The claims that did not hold on the way here, one bit each.
    broken: u16,
}

impl State {
    /// The beginning of a world, with what is written then.
    pub fn first(setting: &Setting, store: Arc<Store>) -> Self {
        let worker = |claims| Worker {
            doing: Doing::Idle,
            claims,
            calls: Vec::new(),
        };
        Self {
            now: 0,
            ahead: 0,
            primary: store.clone(),
            standby: store,
            workers: setting.claims.map(worker),
            receiver: Receiver::default(),
            crashes: setting.crashes,
            clock_steps: setting.clock_steps,
            failovers: setting.failovers,
            decided: 0,
            looked_at: None,
            licence: true,
            proven: false,
            broken: 0,
        }
    }

    /// A claim does not hold.
    pub fn breaks(&mut self, claim: Broken) {
        self.broken |= 1 << claim as u16;
    }

    /// Whether this claim did not hold.
    pub fn broke(&self, claim: Broken) -> bool {
        self.broken & 1 << claim as u16 != 0
    }

    /// Whether any claim did not hold.
    pub fn lawless(&self) -> bool {
        self.broken != 0
    }

    /// The database's time.
    pub fn database_time(&self) -> Tick {
        self.now + self.ahead
    }

    /// How many sends are under way or may still start by an honest worker's watch.
    pub fn sends_under_way(&self) -> usize {
        let may_start = |worker: &&Worker| match worker.doing {
            Doing::Ready { until, .. } => self.now < until,
            _ => false,
        };
        self.workers.iter().filter(may_start).count() + self.receiver.flying.len()
    }
}

impl Worker {
    /// The token under which it does what it does.
    pub fn token(&self) -> Option<u64> {
        match self.doing {
            Doing::Granted { token, .. }
            | Doing::Confessing { token, .. }
            | Doing::Ready { token, .. }
            | Doing::Sending { token, .. }
            | Doing::Sent { token, .. }
            | Doing::Looking(token)
            | Doing::Looked { token, .. } => Some(token),
            Doing::Idle | Doing::Waiting(_) => None,
        }
    }
}
