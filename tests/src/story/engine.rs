//! What can answer a story's calls.

use std::future::Future;

use deed_core::action::Flag;
use deed_core::command::Then;
use deed_core::evidence::{Observation, Receipt};
use deed_core::time::{Span, Timestamp};
use uuid::Uuid;

use super::script::{ActionScript, Resolution};
use super::told::Told;

/// Second zero of every story: 2027-01-15T08:00:00Z. Any fixed time serves; a fixed one makes tokens the same in every
/// run.
pub const BASE: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// One call, with every name resolved to what it stands for.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The worker, witness or operator.
    pub who: &'a str,
    /// The action, and what a claim says of it.
    pub action: &'a ActionScript,
    /// The same for every repeat.
    pub request: Uuid,
    /// What is asked.
    pub ask: Ask<'a>,
}

/// What is asked. Tokens and versions are whatever the script says, also zero.
#[derive(Clone, Debug)]
pub enum Ask<'a> {
    /// Record without a lease.
    Plan,
    /// Take the lease.
    Claim {
        /// And pass the gate.
        begin: bool,
    },
    /// Pass the gate.
    Begin {
        /// Of the grant.
        token: u64,
    },
    /// A receipt.
    Report {
        /// Of the grant.
        token: u64,
        /// The evidence.
        receipt: &'a Receipt,
        /// What next.
        then: Then,
        /// With the claim's specification.
        specified: bool,
    },
    /// An observation under a lease.
    Verify {
        /// Of the grant.
        token: u64,
        /// The evidence.
        observation: &'a Observation,
        /// What next.
        then: Then,
    },
    /// Keep the lease.
    Renew {
        /// Of the grant.
        token: u64,
    },
    /// Give the lease back.
    Release {
        /// Of the grant.
        token: u64,
    },
    /// An observation without a lease.
    Observe {
        /// The evidence.
        observation: &'a Observation,
        /// Address the action by this external id instead of by its key.
        via: Option<&'a str>,
    },
    /// An operator's word.
    Decide {
        /// The version that the operator looked at.
        version: u64,
        /// For the history.
        note: &'a str,
        /// What.
        decision: Decision<'a>,
    },
}

/// What an operator decides.
#[derive(Clone, Debug)]
pub enum Decision<'a> {
    /// Let it be executed; the input is the call's action's.
    Approve,
    /// Never execute it.
    Deny,
    /// Name who reconciles it; nobody, if blank.
    Assign(&'a str),
    /// Say what happened.
    Resolve {
        /// What.
        resolution: &'a Resolution,
        /// Where the proof is.
        proof: &'a str,
    },
    /// Open it again.
    Reopen {
        /// Under a new outward key.
        new_key: bool,
        /// Where the proof is.
        proof: &'a str,
    },
    /// Clear a mark.
    Acknowledge(Flag),
}

/// Whatever answers a story's calls. An `Err` is a broken engine, not an answer.
pub trait Engine {
    /// Sets the database's time, counted from [`BASE`].
    fn at(&mut self, time: Span) -> impl Future<Output = anyhow::Result<()>>;

    /// Lets this much of the database's time pass during every commit.
    fn commits_take(&mut self, time: Span) -> impl Future<Output = anyhow::Result<()>>;

    /// Makes one call.
    fn call(&mut self, call: &Call<'_>) -> impl Future<Output = anyhow::Result<Told>>;

    /// The action as a screen shows it; absent if there is none.
    fn look(&mut self, action: &ActionScript) -> impl Future<Output = anyhow::Result<Option<Told>>>;

    /// The action's history, oldest first.
    fn history(&mut self, action: &ActionScript) -> impl Future<Output = anyhow::Result<Vec<Told>>>;
}
